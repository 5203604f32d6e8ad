import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { isUsable, SILENCE_MS } from './connect.ts';
import { encodeCommand, ReplyReader, type Reply } from './resp.ts';

/** How often the silence is looked at. */
const CHECK_INTERVAL_MS = 100;

/** Taking them out one by one would move all the others each time. */
const MANY = 1024;

/** How long a start waits for it. */
const OPENING_MS = 2000;

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

/**
 * The connection that scripts run on. ioredis opens it and opens it again (address, TLS, AUTH, SELECT); once it is ready
 * the link writes to its socket and reads from it by itself, for what ioredis does for each command costs more than a
 * tenth of a whole coin operation. Commands that are given together leave in one write.
 *
 * Away, it refuses at once; nothing waits for its return, and nothing is sent twice.
 */
export class ScriptLink {
  readonly #connection: Redis;
  readonly #watch: NodeJS.Timeout;
  #stream: Redis['stream'] | undefined;
  /** Who waits for a reply, in the order of the commands; those before `#answered` have theirs. */
  #waiting: Waiting[] = [];
  #answered = 0;
  #outgoing = '';
  #heardAt = 0;

  /** @param redis where, and with which options */
  constructor(redis: Redis) {
    // Its own watch over silence counts commands of its own alone.
    this.#connection = redis.duplicate({ connectionName: 'coinop-scripts', socketTimeout: undefined });
    // That Redis is away, the other connection says.
    this.#connection.on('error', () => {});
    this.#connection.on('ready', () => void this.#takeOver());
    this.#connection.on('close', () => this.#lost());
    this.#watch = setInterval(() => this.#checkSilence(), CHECK_INTERVAL_MS);
  }

  get isReady(): boolean {
    return this.#stream !== undefined;
  }

  /** Resolves when it is ready, or after a while when it is not. */
  async opened(): Promise<void> {
    const giveUpAt = performance.now() + OPENING_MS;
    while (!this.isReady && performance.now() < giveUpAt) await pause(5);
  }

  /** As ioredis's own. @throws Error Redis's own, or that the connection is away or lost */
  call(command: string, words: readonly (string | number)[]): Promise<unknown> {
    const stream = this.#stream;
    // The words of ioredis, which storeFailure() knows: nothing was sent.
    if (stream === undefined || !stream.writable) return Promise.reject(new Error("Stream isn't writeable"));
    if (this.#outgoing === '') queueMicrotask(() => this.#flush());
    if (this.#answered === this.#waiting.length) this.#heardAt = performance.now();
    this.#outgoing += encodeCommand(command, words);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  disconnect(): void {
    clearInterval(this.#watch);
    this.#connection.disconnect();
  }

  async #takeOver(): Promise<void> {
    const connection = this.#connection;
    const { stream } = connection;
    // The other connection is told the same, and says so.
    if (!(await isUsable(connection, () => {})) || connection.stream !== stream) return;
    const replies = new ReplyReader();
    stream.removeAllListeners('data');
    stream.on('data', (piece: Buffer) => this.#read(replies, piece));
    this.#stream = stream;
  }

  #flush(): void {
    const outgoing = this.#outgoing;
    this.#outgoing = '';
    if (outgoing !== '') this.#stream?.write(outgoing);
  }

  #read(replies: ReplyReader, piece: Buffer): void {
    this.#heardAt = performance.now();
    try {
      for (const reply of replies.read(piece)) this.#settle(reply);
    } catch (error) {
      this.#stream?.destroy(error as Error);
    }
    // Under a load that never pauses somebody is always waiting: those who are done must go all the same.
    if (this.#answered === this.#waiting.length || this.#answered > MANY) {
      this.#waiting = this.#waiting.slice(this.#answered);
      this.#answered = 0;
    }
  }

  #settle(reply: Reply): void {
    const { resolve, reject } = this.#waiting[this.#answered++]!;
    if (!(reply instanceof Error)) return resolve(reply);
    reject(reply);
    // A replica that was a primary a moment ago: the next connection finds the new primary.
    if (reply.message.startsWith('READONLY')) this.#stream?.destroy();
  }

  #lost(): void {
    this.#stream = undefined;
    this.#outgoing = '';
    const lost = this.#waiting.slice(this.#answered);
    this.#waiting = [];
    this.#answered = 0;
    for (const { reject } of lost) reject(new Error('Connection is closed.'));
  }

  #checkSilence(): void {
    const isWaiting = this.#waiting.length > this.#answered;
    if (isWaiting && performance.now() - this.#heardAt > SILENCE_MS) this.#stream?.destroy();
  }
}
