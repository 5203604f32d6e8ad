import type { WriteStream } from 'node:tty';

const WIDTH = 24;
const REDRAW_MS = 100;

/** A bar on a terminal; in a log a line when something begins, for those who wait. */
export class Progress {
  readonly #stream: Pick<WriteStream, 'write' | 'isTTY' | 'columns'>;
  readonly #total: number;
  readonly #startedAt = performance.now();
  readonly #redrawing: NodeJS.Timeout | undefined;
  #done = 0;
  #doing = '';

  /** @param total steps until all is done */
  constructor(total: number, stream: Pick<WriteStream, 'write' | 'isTTY' | 'columns'> = process.stderr) {
    this.#total = total;
    this.#stream = stream;
    // The clock goes on while a step takes its time.
    if (stream.isTTY) this.#redrawing = setInterval(() => this.#draw(), REDRAW_MS).unref();
  }

  begin(scenario: string): void {
    if (!this.#stream.isTTY) this.#stream.write(`bench: ${scenario}\n`);
  }

  doing(what: string): void {
    this.#doing = what;
  }

  step(): void {
    this.#done = Math.min(this.#total, this.#done + 1);
  }

  close(): void {
    clearInterval(this.#redrawing);
    if (this.#stream.isTTY) this.#stream.write('\r\x1b[K');
  }

  #draw(): void {
    const part = this.#done / this.#total;
    const filled = Math.round(part * WIDTH);
    const elapsed = performance.now() - this.#startedAt;
    const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${String(Math.floor(part * 100)).padStart(3)} % ${clock(elapsed)}`;
    this.#stream.write(`\r\x1b[K${`${bar}  ${this.#doing}`.slice(0, (this.#stream.columns || 80) - 1)}`);
  }
}

/** Minutes and seconds. */
function clock(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
