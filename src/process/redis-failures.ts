import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { troubleOf, type RedisTrouble } from '../redis/trouble.ts';

/** The size of the file in bytes. It never changes. */
const SIZE = 8192;

/** The most characters of an event together with the lines below it. */
const LONGEST_ENTRY = 2048;

/** An event in the record: an unexpected end or a failed start of the private Redis. */
export interface RecordedTrouble {
  readonly at: Date;
  /** What happened: `ended, code 1`. */
  readonly event: string;
  /** The last lines that Redis wrote before the event. */
  readonly lines: readonly string[];
  readonly trouble: RedisTrouble | undefined;
}

/**
 * Records the last ends and failed starts of the private Redis of a DATA_DIR in the file redis/redis.log, for `/ready` and `npm run
 * doctor`. The file has its full size from the start and is overwritten in place, because on a full disk no file can be created or grow.
 */
export class RedisFailures {
  readonly #path: string;

  constructor(dataDir: string) {
    this.#path = join(dataDir, 'redis', 'redis.log');
  }

  /** Creates the file if it does not exist. Never throws. */
  reserve(): void {
    if (existsSync(this.#path)) return;
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      writeFileSync(this.#path, '\n'.repeat(SIZE), { mode: 0o600 });
    } catch {
      // If the file cannot be opened, the events are only in the log of the service.
    }
  }

  /** Adds an event. Never throws. If it cannot write the file, the event is only in the log of the service. */
  note(event: string, lines: readonly string[]): void {
    const entry = [`${new Date().toISOString()} ${event}`, ...lines.map((line) => `  ${line}`)].join('\n').slice(0, LONGEST_ENTRY);
    try {
      const text = Buffer.from(`${this.#read()}${entry}\n`).subarray(-SIZE);
      const whole = Buffer.alloc(SIZE, '\n');
      // The newest line is at the end of the file, where `tail` shows it.
      text.copy(whole, SIZE - text.length);
      const file = openSync(this.#path, 'r+');
      writeSync(file, whole, 0, SIZE, 0);
      closeSync(file);
    } catch {
      // The log of the service has the event.
    }
  }

  /** The last event. Undefined: there is none. */
  get last(): RecordedTrouble | undefined {
    const [, time = '', event = '', rest = ''] = /(?:^|\n)(\d{4}-\S+Z) ([^\n]*)((?:\n {2}[^\n]*)*)\n$/.exec(this.#read()) ?? [];
    const at = new Date(time);
    if (Number.isNaN(at.getTime())) return undefined;
    const lines = rest
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
    const signal = event.endsWith(', SIGKILL') ? 'SIGKILL' : undefined;
    return { at, event, lines, trouble: troubleOf(lines, signal) };
  }

  #read(): string {
    try {
      const text = readFileSync(this.#path, 'utf8').trim();
      return text === '' ? '' : `${text}\n`;
    } catch {
      return '';
    }
  }
}
