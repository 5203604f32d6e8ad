import type { Redis } from 'ioredis';
import type { Rights } from './user-rights.ts';
import { Link } from './link.ts';
import type { Reply } from './resp.ts';

/** The subscriptions of a process: of one Redis, or of a Cluster (cluster-subscriber.ts). */
export interface Subscriptions {
  on(event: 'message', listener: (channel: string, message: string) => void): unknown;
  /**
   * Emitted for channels whose subscriptions ended because their connection broke or their slots moved, as soon as processes can subscribe
   * to them again. Users of the channels then subscribe again (for watched rooms `server/live/watched-topics.ts`). Messages in between were
   * lost.
   */
  on(event: 'ready', listener: (isConcerned: (channel: string) => boolean) => void): unknown;
  /**
   * Emitted when subscriptions to channels ended. A `ready` follows as soon as processes can subscribe to the channels again. It may
   * already have come.
   */
  on(event: 'close', listener: (isLost: (channel: string) => boolean) => void): unknown;
  /** Whether the subscription to a channel works, so that its messages arrive. */
  hears(channel: string): boolean;
  subscribe(...channels: string[]): Promise<void>;
  unsubscribe(...channels: string[]): Promise<void>;
  ping(): Promise<void>;
  disconnect(): void;
}

/** A command on the connection, and the number of its replies that have not come yet: it gets one for each channel. */
interface Waiting {
  readonly command: string;
  readonly channels: readonly string[];
  left: number;
  resolve(): void;
  reject(error: Error): void;
}

/**
 * The connection for subscriptions; it is separate, because a connection that subscribes cannot run scripts. Emits `message`. Subscriptions
 * end with the connection. So at each `ready` each user subscribes to its channels again.
 */
export class Subscriber extends Link implements Subscriptions {
  readonly #waiting: Waiting[] = [];
  readonly #prefix: string;

  /**
   * @param redis the connection whose address and options the subscriber copies
   * @param prefix the text with which the names of all channels in Redis begin (`channelPrefix`). Users of the subscriber do not see the
   * prefix
   * @param rights as of `Link`
   */
  constructor(redis: Redis, prefix = '', rights?: Rights) {
    super(redis, { connectionName: 'coinop-subscriber' }, rights);
    this.#prefix = prefix;
  }

  hears(_channel: string): boolean {
    return this.isReady;
  }

  /** Resolves once the subscription works, so that all later messages arrive. @throws Error if the connection is down or is lost */
  subscribe(...channels: string[]): Promise<void> {
    return this.#ask('SUBSCRIBE', this.#named(channels), channels.length);
  }

  /**
   * Subscribes to channels of one slot of a Cluster.
   * @throws Error if the connection is down or is lost, or the node does not serve the slot
   */
  subscribeSharded(channels: readonly string[]): Promise<void> {
    return this.#ask('SSUBSCRIBE', channels, channels.length);
  }

  /**
   * Unsubscribes from channels of one slot of a Cluster. If the node loses the slot at that moment, it ends the subscriptions with the same
   * message that answers SUNSUBSCRIBE, and then refuses the command. So a PING follows the command, and its answer marks the end.
   * @throws Error if the connection is down or is lost
   */
  unsubscribeSharded(channels: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.send('SUNSUBSCRIBE', channels);
      this.send('PING', []);
      this.#waiting.push({ command: 'SUNSUBSCRIBE', channels, left: 1, resolve, reject });
    });
  }

  /** @throws Error if the connection is down or is lost */
  unsubscribe(...channels: string[]): Promise<void> {
    return this.#ask('UNSUBSCRIBE', this.#named(channels), channels.length);
  }

  /** @throws Error if the connection is down or is lost */
  ping(): Promise<void> {
    return this.#ask('PING', [], 1);
  }

  #named(channels: readonly string[]): readonly string[] {
    return channels.map((channel) => this.#prefix + channel);
  }

  #ask(command: string, words: readonly string[], replies: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.send(command, words);
      this.#waiting.push({ command, channels: words, left: replies, resolve, reject });
    });
  }

  protected override get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  protected override received(reply: Reply): void {
    const [awaited] = this.#waiting;
    const leaves = awaited?.command === 'SUNSUBSCRIBE';
    if (Array.isArray(reply)) {
      const [kind, channel, message] = reply as string[];
      if (kind === 'message' || kind === 'smessage') return void this.emit('message', channel!.slice(this.#prefix.length), message!);
      if (kind === 'sunsubscribe') {
        // This message answers no command of this process: the node has lost the slot of the channel.
        if (!leaves || !awaited.channels.includes(channel!)) this.emit('sunsubscribed', channel!);
        return;
      }
    }
    // The node refused a SUNSUBSCRIBE. The answer to the PING after it follows.
    if (leaves && reply instanceof Error) return;
    if (awaited === undefined || (--awaited.left > 0 && !(reply instanceof Error))) return;
    this.#waiting.shift();
    if (reply instanceof Error) awaited.reject(reply);
    else awaited.resolve();
  }

  protected override lost(): void {
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('Connection is closed.'));
  }
}
