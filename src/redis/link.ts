import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis, RedisOptions } from 'ioredis';
import { isUsable, SILENCE_MS } from './connect.ts';
import { encodeCommand, ReplyReader, type Reply } from './resp.ts';

/** How often the silence is looked at. */
const CHECK_INTERVAL_MS = 250;

/** How long a start waits for it. */
const OPENING_MS = 2000;

interface LinkEvents {
  ready: [];
  close: [];
  /** Published on a channel that is subscribed to. */
  message: [channel: string, message: string];
}

/**
 * A connection to Redis that ioredis opens and opens again (address, TLS, AUTH, SELECT); once it is ready the link writes
 * to its socket and reads from it by itself, for what ioredis does for each command and message costs more than a tenth of
 * a whole coin operation. Commands that are given together leave in one write.
 *
 * Away, it refuses at once; nothing waits for its return, and nothing is sent twice.
 */
export abstract class Link extends EventEmitter<LinkEvents> {
  readonly #connection: Redis;
  readonly #watch: NodeJS.Timeout;
  #stream: Redis['stream'] | undefined;
  #outgoing = '';
  #heardAt = 0;
  /** Since when it is connected without being ready: a peer that says nothing from the start is noticed as well. */
  #connectedAt = Infinity;

  /** @param redis where, and with which options */
  protected constructor(redis: Redis, options: Partial<RedisOptions>) {
    super();
    // Its own watch over silence counts commands of its own alone.
    this.#connection = redis.duplicate({ ...options, socketTimeout: undefined });
    // That Redis is away, the other connection says.
    this.#connection.on('error', () => {});
    this.#connection.on('connect', () => (this.#connectedAt = performance.now()));
    this.#connection.on('ready', () => void this.#takeOver());
    this.#connection.on('close', () => this.#lose());
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

  disconnect(): void {
    clearInterval(this.#watch);
    this.#connection.disconnect();
  }

  /** Whether a reply is still to come. */
  protected abstract get isWaiting(): boolean;

  protected abstract received(reply: Reply): void;

  /** The connection broke: no reply to anything sent so far will come. */
  protected abstract lost(): void;

  /** All that one piece of what came brought has been received. */
  protected pieceEnded(): void {}

  /** @throws Error where it is away; then nothing was sent */
  protected send(command: string, words: readonly (string | number)[]): void {
    // The words of ioredis, which redisFailure() knows.
    if (this.#stream?.writable !== true) throw new Error("Stream isn't writeable");
    if (this.#outgoing === '') queueMicrotask(() => this.#flush());
    if (!this.isWaiting) this.#heardAt = performance.now();
    this.#outgoing += encodeCommand(command, words);
  }

  /** Breaks the connection: ioredis opens another. */
  protected break(reason?: Error): void {
    this.#stream?.destroy(reason);
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
    this.#connectedAt = Infinity;
    this.emit('ready');
  }

  #flush(): void {
    const outgoing = this.#outgoing;
    this.#outgoing = '';
    if (outgoing !== '') this.#stream?.write(outgoing);
  }

  #read(replies: ReplyReader, piece: Buffer): void {
    this.#heardAt = performance.now();
    try {
      for (const reply of replies.read(piece)) this.#receive(reply);
    } catch (error) {
      this.break(error as Error);
    }
    this.pieceEnded();
  }

  #receive(reply: Reply): void {
    try {
      this.received(reply);
    } catch (error) {
      // A listener's bug, and not the connection's: what follows is read all the same.
      process.nextTick(() => {
        throw error;
      });
    }
  }

  #lose(): void {
    const wasReady = this.isReady;
    this.#connectedAt = Infinity;
    this.#stream = undefined;
    this.#outgoing = '';
    this.lost();
    if (wasReady) this.emit('close');
  }

  #checkSilence(): void {
    const now = performance.now();
    if (this.isWaiting && now - this.#heardAt > SILENCE_MS) this.break();
    if (now - this.#connectedAt > SILENCE_MS) this.#connection.stream.destroy();
  }
}
