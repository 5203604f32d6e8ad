import { join } from 'node:path';
import type { Logger } from 'pino';
import { troubleOf } from '../redis/trouble.ts';
import { aofSizes, cutTailOf } from './aof-files.ts';
import type { RedisRecord } from './redis-record.ts';
import { RedisServer, socketPathFor } from './redis-server.ts';
import { RedisWords } from './redis-words.ts';

/** After a run of this length an end counts as a new trouble: the pauses between starts begin at 50 ms again. */
const STEADY_MS = 30_000;

const LONGEST_PAUSE_MS = 5000;

/** How often a line is logged for a Redis that keeps ending for the same reason, for example a full disk. */
const SAME_TROUBLE_MS = 60_000;

/** Most lines of Redis in a message: its last error and what led to it. */
const MOST_WORDS = 6;

/** Most sentences that are remembered: Redis has about this many different ones. */
const MOST_SENTENCES = 100;

/**
 * A redis-server that belongs to the service. It listens on a Unix socket that only this user can open, keeps its data in
 * `dataDir`, and acknowledges a write once it is on disk. It starts and stops with the service, and is restarted if it dies.
 */
export class PrivateRedis {
  readonly socketPath: string;
  readonly #server: RedisServer;
  readonly #log: Logger;
  readonly #folder: string;
  readonly #record: RedisRecord | undefined;
  readonly #words = new RedisWords((line) => this.#told(line));
  /** The append-only files before the start. */
  #sizes: ReadonlyMap<string, number> = new Map();
  readonly #warnedAt = new Map<string, number>();
  #isStopping = false;
  #restarts = 0;
  /** The times of this start and of the last line about an end, on the clock of `performance.now()`. */
  #startedAt = 0;
  #toldAt = -Infinity;
  #toldReason = '';

  /**
   * @param moreSettings further arguments of redis-server's command line; they override the service's own settings
   * @param record gets each unexpected end
   */
  constructor(dataDir: string, log: Logger, moreSettings: readonly string[] = [], record?: RedisRecord) {
    this.#log = log;
    this.#record = record;
    this.socketPath = socketPathFor(dataDir);
    const settings = [
      ['port', '0'],
      ['appendonly', 'yes'],
      // Redis answers a write only after fsync: an acknowledged write survives a crash and a power cut.
      ['appendfsync', 'always'],
      ['no-appendfsync-on-rewrite', 'no'],
      ['save', ''],
      ['maxmemory-policy', 'noeviction'],
      // A backup begins at once. By default Redis would wait 5 s for further replicas, but there are none.
      ['repl-diskless-sync', 'yes'],
      ['repl-diskless-sync-delay', '0'],
      ['loglevel', 'warning'],
    ].flatMap(([name, value]) => [`--${name}`, value!]);
    const folder = join(dataDir, 'redis');
    this.#folder = folder;
    this.#server = new RedisServer({
      folder,
      socketPath: this.socketPath,
      settings: [...settings, ...moreSettings],
      complained: (text) => this.#words.take(`${text}\n`),
      said: (text) => this.#words.take(text),
      adviceFor: (server, isRunning) => this.#advice(server, isRunning),
    });
  }

  get pid(): number | undefined {
    return this.#server.pid;
  }

  /**
   * Resolves once redis-server answers PING.
   * @throws SettingError without Redis 7.0 or newer on this machine, or when redis-server does not answer within 60 s
   */
  async start(): Promise<void> {
    if (await this.#server.stopOrphan()) this.#log.warn('stopped the private redis of an earlier run');
    await this.#startServer();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#server.stop();
  }

  async #startServer(): Promise<void> {
    this.#words.begin();
    this.#sizes = aofSizes(this.#folder);
    this.#startedAt = performance.now();
    await this.#server.start((code, signal) => {
      if (this.#isStopping) return;
      if (performance.now() > this.#startedAt + STEADY_MS) this.#restarts = 0;
      const delayMs = Math.min(50 * 2 ** this.#restarts++, LONGEST_PAUSE_MS);
      this.#tellEnd(code, signal, delayMs);
      setTimeout(() => {
        // A start that fails also ends the server, which triggers the next start.
        if (!this.#isStopping) this.#startServer().catch(() => {});
      }, delayMs);
    });
  }

  /** A line of Redis's log. Redis logs warnings only. */
  #told(line: string): void {
    const cut = cutTailOf(line, this.#sizes);
    if (cut === undefined) return this.#warn(line);
    this.#log.warn(cut, 'private redis dropped the end of its append-only file, which was cut in the middle of a write');
    this.#record?.note(`dropped ${cut.bytes ?? 'some'} bytes at the end of ${cut.file}, from byte ${cut.offset} on`, []);
  }

  /** Logs a sentence at most once a minute. Sentences that differ only in numbers count as the same. */
  #warn(line: string): void {
    const [sentence, now] = [line.replaceAll(/\d+/g, '0'), performance.now()];
    const isSame = now < (this.#warnedAt.get(sentence) ?? -Infinity) + SAME_TROUBLE_MS;
    this.#log[isSame ? 'debug' : 'warn']({ redis: line }, 'private redis logged a warning');
    if (isSame) return;
    if (this.#warnedAt.size >= MOST_SENTENCES) this.#warnedAt.clear();
    this.#warnedAt.set(sentence, now);
  }

  #tellEnd(code: number | null, signal: NodeJS.Signals | null, delayMs: number): void {
    const redis = this.#words.last.slice(-MOST_WORDS);
    const { text: reason = 'Redis did not say why.', mend } = troubleOf(redis, signal) ?? {};
    this.#record?.note(`ended, ${signal === null ? `code ${code}` : signal}`, redis);
    const isSame = reason === this.#toldReason && performance.now() < this.#toldAt + SAME_TROUBLE_MS;
    this.#log[isSame ? 'debug' : 'error']({ code, signal, delayMs, reason, mend, redis }, 'private redis ended, starting it again');
    if (!isSame) [this.#toldReason, this.#toldAt] = [reason, performance.now()];
  }

  #advice(server: string, isRunning: boolean): string {
    const begin = `The private redis-server in ${this.#folder} does not start.`;
    const words = this.#words.last.slice(-MOST_WORDS);
    if (words.length > 0) this.#record?.note('did not start', words);
    if (isRunning) return `${begin} It does not answer yet, because it loads its data or hangs.`;
    if (words.length === 0) return `${begin} To see why, run "${server} --dir ${this.#folder}".`;
    const trouble = troubleOf(words);
    const what = trouble === undefined ? '' : ` ${trouble.text} What to do: ${trouble.mend}`;
    return [`${begin}${what}`, ...words.map((line) => `Redis: ${line}`)].join('\n');
  }
}
