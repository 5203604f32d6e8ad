import type { WriteStream } from 'node:tty';

const WIDTH = 24;
const REDRAW_MS = 100;

/** Draws a progress bar on a terminal. In a log it writes a line when a step begins. */
export class Progress {
  readonly #stream: Pick<WriteStream, 'write' | 'isTTY' | 'columns'>;
  readonly #total: number;
  readonly #startedAt = performance.now();
  readonly #redrawing: NodeJS.Timeout | undefined;
  #done = 0;
  #part = 0;
  #doing = '';

  /** @param total the number of steps */
  constructor(total: number, stream: Pick<WriteStream, 'write' | 'isTTY' | 'columns'> = process.stderr) {
    this.#total = total;
    this.#stream = stream;
    // Redraws during long steps, so that the clock does not stand still.
    if (stream.isTTY) this.#redrawing = setInterval(() => this.#draw(), REDRAW_MS).unref();
  }

  begin(scenario: string): void {
    if (!this.#stream.isTTY) this.line(`bench: ${scenario}`);
  }

  doing(what: string): void {
    this.#doing = what;
  }

  /** @param part the finished part of the current step, 0 to 1 */
  at(part: number): void {
    this.#part = Math.max(this.#part, Math.min(1, part));
  }

  step(): void {
    this.#done = Math.min(this.#total, this.#done + 1);
    this.#part = 0;
  }

  /** Writes a line above the bar. */
  line(text: string): void {
    this.#stream.write(`${this.#stream.isTTY ? '\r\x1b[K' : ''}${text}\n`);
  }

  close(): void {
    clearInterval(this.#redrawing);
    if (this.#stream.isTTY) this.#stream.write('\r\x1b[K');
  }

  #draw(): void {
    const part = Math.min(1, (this.#done + this.#part) / this.#total);
    const filled = Math.round(part * WIDTH);
    const elapsed = performance.now() - this.#startedAt;
    const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${String(Math.floor(part * 100)).padStart(3)} % ${clock(elapsed)}`;
    this.#stream.write(`\r\x1b[K${`${bar}  ${this.#doing}`.slice(0, (this.#stream.columns || 80) - 1)}`);
  }
}

/** Minutes and seconds: "3:07". */
function clock(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
