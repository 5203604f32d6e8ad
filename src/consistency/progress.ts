import type { WriteStream } from 'node:tty';
import type { AuditCounts } from './counts.ts';

/** The number of characters of the bar. */
const WIDTH = 24;

/** Milliseconds between two drawings of the bar. */
const REDRAW_MS = 200;

/** If standard error is not a terminal, the first line follows after this many milliseconds, so that a short audit writes no line. */
const FIRST_LINE_MS = 2000;

/** Milliseconds between two later lines. */
const LINE_MS = 5000;

/** The name of the count that the progress shows. */
const SHOWN = 'accounts';

/** Shows the progress of an audit: on a terminal as a bar, otherwise as a line every few seconds. */
export class Progress {
  readonly #counts: AuditCounts;
  readonly #stream: Pick<WriteStream, 'write' | 'isTTY' | 'columns'>;
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout;

  constructor(counts: AuditCounts, stream: Pick<WriteStream, 'write' | 'isTTY' | 'columns'> = process.stderr) {
    this.#counts = counts;
    this.#stream = stream;
    const every = (milliseconds: number): NodeJS.Timeout => setInterval(() => this.#show(), milliseconds).unref();
    const later = (): NodeJS.Timeout =>
      setTimeout(() => {
        this.#show();
        this.#timer = every(LINE_MS);
      }, FIRST_LINE_MS).unref();
    this.#timer = stream.isTTY ? every(REDRAW_MS) : later();
  }

  close(): void {
    clearInterval(this.#timer);
    if (this.#stream.isTTY) this.#stream.write('\r\x1b[K');
  }

  #show(): void {
    const { keys, keysInAll, checked, drift } = this.#counts;
    const seconds = (performance.now() - this.#startedAt) / 1000;
    // `keys` may exceed `keysInAll`, because clients make new keys during the audit.
    const part = keysInAll === 0 ? 0 : Math.min(1, keys / keysInAll);
    const shown = checked[SHOWN] ?? 0;
    const left = part === 0 ? '' : `, ${clock((seconds / part) * (1 - part))} left`;
    const state = `${Math.floor(part * 100)} %, ${grouped(shown)} ${SHOWN}, ${grouped(Math.round(shown / seconds))} a second${left}`;
    const text = drift === 0 ? state : `${state}, ${grouped(drift)} findings`;
    if (!this.#stream.isTTY) return void this.#stream.write(`audit: ${text}\n`);
    const filled = Math.round(part * WIDTH);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)} ${text}`;
    this.#stream.write(`\r\x1b[K${bar.slice(0, (this.#stream.columns || 80) - 1)}`);
  }
}

/** Minutes and seconds as text: "3:07". */
function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;
}

/** A number with commas between the thousands: "1,000,000". */
export function grouped(number: number): string {
  return number.toLocaleString('en-GB');
}
