import { join } from 'node:path';
import type { Logger } from 'pino';
import { troubleOf } from '../redis/trouble.ts';
import { aofSizes, cutTailOf } from './aof-files.ts';
import type { RedisFailures } from './redis-failures.ts';
import { RedisServer, socketPathFor } from './redis-server.ts';
import { RedisOutput } from './redis-output.ts';

/**
 * If Redis ran for at least so many milliseconds, its end counts as a new trouble, and the pauses before starts begin at 50 ms again.
 */
const STEADY_MS = 30_000;

const LONGEST_PAUSE_MS = 5000;

/** Milliseconds between two log lines about a Redis that keeps ending for the same reason, such as a full disk. */
const SAME_TROUBLE_MS = 60_000;

/** The most lines of Redis's output in a message: the last error, and the lines that led to it. */
const MOST_WORDS = 6;

/**
 * The highest number of different sentences of Redis for which the time of their last logging is remembered. This is about the number of
 * different warnings that Redis has.
 */
const MOST_SENTENCES = 100;

/**
 * A redis-server that belongs to the service. It listens on a Unix socket that only this user can open, keeps its data in `dataDir`, and
 * acknowledges a write once the write is on disk. Redis starts and stops with the service, and the service restarts Redis if it dies.
 */
export class PrivateRedis {
  readonly socketPath: string;
  readonly #server: RedisServer;
  readonly #log: Logger;
  readonly #folder: string;
  readonly #record: RedisFailures | undefined;
  readonly #words = new RedisOutput((line) => this.#told(line));
  /** The sizes of the append-only files before the last start of Redis, by file name. */
  #sizes: ReadonlyMap<string, number> = new Map();
  readonly #warnedAt = new Map<string, number>();
  #isStopping = false;
  #restarts = 0;
  /** When Redis was last started, on the clock of `performance.now()`. `#toldAt`: when its end was last logged. */
  #startedAt = 0;
  #toldAt = -Infinity;
  #toldReason = '';

  /**
   * @param moreSettings further arguments of redis-server's command line, which override the service's own settings
   * @param record the file that gets a line for each unexpected end of Redis
   */
  constructor(dataDir: string, log: Logger, moreSettings: readonly string[] = [], record?: RedisFailures) {
    this.#log = log;
    this.#record = record;
    this.socketPath = socketPathFor(dataDir);
    const settings = [
      ['port', '0'],
      ['appendonly', 'yes'],
      // Redis answers a write only after fsync. So an acknowledged write survives a crash and a power cut.
      ['appendfsync', 'always'],
      ['no-appendfsync-on-rewrite', 'no'],
      ['save', ''],
      ['maxmemory-policy', 'noeviction'],
      // Redis remembers for which keys it owes a process a message (tracked.ts): 147 bytes for each key, even after nobody needs it any
      // more.
      ['tracking-table-max-keys', '100000'],
      // A backup begins at once. By default Redis would wait 5 s for more replicas to come, but a private Redis has none.
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
        // If this start fails, redis-server ends too, and its end leads to the next start.
        if (!this.#isStopping) this.#startServer().catch(() => {});
      }, delayMs);
    });
  }

  /** Handles a line of Redis's log. Redis logs warnings only. */
  #told(line: string): void {
    const cut = cutTailOf(line, this.#sizes);
    if (cut === undefined) return this.#warn(line);
    this.#log.warn(cut, 'private redis dropped the end of its append-only file, which was cut in the middle of a write');
    this.#record?.note(`dropped ${cut.bytes ?? 'some'} bytes at the end of ${cut.file}, from byte ${cut.offset} on`, []);
  }

  /** Logs a sentence of Redis at most once a minute. Sentences that differ only in their numbers count as the same sentence. */
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
