import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis, RedisOptions } from 'ioredis';
import { BufferedConnector, BufferedSocket } from './buffered-connector.ts';
import type { Rights } from './user-rights.ts';
import { checkOf } from './connect.ts';
import { encodeCommand, ReplyReader, type Reply } from './resp.ts';
import { SILENCE_MS, UsableConnection } from './usable-connection.ts';

/** Milliseconds between two checks whether Redis is silent. */
const CHECK_INTERVAL_MS = 250;

/**
 * The number of checks in a row without data after which Redis counts as silent: as many as fit into SILENCE_MS. Checks are counted instead
 * of time. A process that was held up for some seconds has not read yet what Redis sent in that time, and reads it before the next check.
 */
const SILENT_CHECKS = SILENCE_MS / CHECK_INTERVAL_MS;

/** The longest time that `opened` waits, in milliseconds. */
const OPENING_MS = 2000;

interface LinkEvents {
  /**
   * @param isConcerned tells for a channel whether its subscription has ended, as in `Subscriptions`. With a link all subscriptions end
   * together
   */
  ready: [isConcerned: (channel: string) => boolean];
  /** @param isLost tells for a channel whether its subscription has ended: always true */
  close: [isLost: (channel: string) => boolean];
  /** A message arrived on a subscribed channel. */
  message: [channel: string, message: string];
  /** The node of a Cluster ended the subscription to a channel, because its slot moved. */
  sunsubscribed: [channel: string];
}

/**
 * A connection to Redis that ioredis opens and reopens (address, TLS, AUTH, SELECT). Once the connection is ready, the link itself writes
 * to the socket and reads from it, because that takes less CPU (measured in docs/decisions/own-resp-link.md). Commands sent in the same
 * tick leave in one write.
 *
 * While disconnected, the link refuses commands at once. It queues no command, and sends no command twice.
 */
export abstract class Link extends EventEmitter<LinkEvents> {
  readonly #connection: Redis;
  readonly #usable: UsableConnection;
  readonly #watch: NodeJS.Timeout;
  #stream: Redis['stream'] | undefined;
  #outgoing = '';
  /**
   * The number of checks in a row in which Redis sent nothing although a command waited, or although the link was connected and not ready
   * yet.
   */
  #silentChecks = 0;
  /** Whether the link is connected but not ready yet. A peer that is silent from the start also counts as silent. */
  #isOpening = false;

  /**
   * @param redis the connection whose address and options the link copies; `options` overrides single options
   * @param rights the rights that the Redis user needs before the link is ready. Default: the rights are not checked
   */
  protected constructor(redis: Redis, options: Partial<RedisOptions>, rights?: Rights) {
    super();
    // The socketTimeout of ioredis covers only the commands that ioredis sends; #checkSilence replaces it.
    const connector = redis.options.tls === undefined ? { Connector: BufferedConnector } : {};
    this.#connection = redis.duplicate({ ...options, ...connector, socketTimeout: undefined });
    // The main connection logs outages, so the link's connection gets no logger.
    this.#usable = new UsableConnection(this.#connection, { check: checkOf(rights) });
    this.#usable.on('usable', () => this.#takeOver());
    this.#connection.on('connect', () => {
      this.#isOpening = true;
      this.#silentChecks = 0;
    });
    this.#connection.on('close', () => this.#lose());
    this.#watch = setInterval(() => this.#checkSilence(), CHECK_INTERVAL_MS);
  }

  get isReady(): boolean {
    return this.#stream !== undefined;
  }

  /** The reason why the link is not ready, if it is known. */
  get problem(): string | undefined {
    return this.isReady ? undefined : this.#usable.problem;
  }

  /** Closes the connection. It then opens again, with all checks. Called when the Redis user has lost a right. */
  checkAgain(): void {
    this.break();
  }

  /** Resolves when the link is ready, or after OPENING_MS if it is not. */
  async opened(): Promise<void> {
    const giveUpAt = performance.now() + OPENING_MS;
    while (!this.isReady && performance.now() < giveUpAt) await pause(5);
  }

  disconnect(): void {
    clearInterval(this.#watch);
    this.#connection.disconnect();
  }

  /** Whether a command still waits for its reply. */
  protected abstract get isWaiting(): boolean;

  protected abstract received(reply: Reply): void;

  /** Called when the connection breaks. Commands that still wait will get no reply. */
  protected abstract lost(): void;

  /** Called after all replies in one piece of data were received. */
  protected pieceEnded(): void {}

  /** Sends a command. @throws Error if the link is disconnected; then nothing was sent */
  protected send(command: string, words: readonly (string | number)[]): void {
    // `redisFailure()` recognises this message, which ioredis uses too.
    if (this.#stream?.writable !== true) throw new Error("Stream isn't writeable");
    if (this.#outgoing === '') queueMicrotask(() => this.#flush());
    if (!this.isWaiting) this.#silentChecks = 0;
    this.#outgoing += encodeCommand(command, words);
  }

  /** Breaks the connection. ioredis then opens a new connection. */
  protected break(reason?: Error): void {
    this.#stream?.destroy(reason);
  }

  #takeOver(): void {
    const { stream } = this.#connection;
    const replies = new ReplyReader();
    stream.removeAllListeners('data');
    const read = (piece: Buffer): void => this.#read(replies, piece);
    if (stream instanceof BufferedSocket) stream.receive = read;
    else stream.on('data', read);
    this.#stream = stream;
    this.#isOpening = false;
    this.emit('ready', () => true);
  }

  #flush(): void {
    const outgoing = this.#outgoing;
    this.#outgoing = '';
    if (outgoing !== '') this.#stream?.write(outgoing);
  }

  #read(replies: ReplyReader, piece: Buffer): void {
    this.#silentChecks = 0;
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
      // A bug in a listener must not break the connection: the error is thrown outside, and the link goes on with the next replies.
      process.nextTick(() => {
        throw error;
      });
    }
  }

  #lose(): void {
    const wasReady = this.isReady;
    this.#isOpening = false;
    this.#stream = undefined;
    this.#outgoing = '';
    this.lost();
    if (wasReady) this.emit('close', () => true);
  }

  #checkSilence(): void {
    if (!(this.isWaiting || this.#isOpening) || ++this.#silentChecks <= SILENT_CHECKS) return;
    if (this.#isOpening) this.#connection.stream.destroy();
    else this.break();
  }
}
