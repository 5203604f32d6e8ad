import type { Redis } from 'ioredis';
import { Link } from './link.ts';
import type { Reply } from './resp.ts';

/** A command, and the number of its replies still to come: one for each channel. */
interface Waiting {
  left: number;
  resolve(): void;
  reject(error: Error): void;
}

/**
 * The connection for subscriptions: a connection that subscribes can run no scripts. Emits `message`. Subscriptions end with
 * the connection: every user of it subscribes again at each `ready`, to the channels that it needs then.
 */
export class Subscriber extends Link {
  readonly #waiting: Waiting[] = [];

  /** @param redis gives the address and the options */
  constructor(redis: Redis) {
    super(redis, { connectionName: 'coinop-subscriber' });
  }

  /** Resolves once messages published from then on will arrive. @throws Error if the connection is down or is lost */
  subscribe(...channels: string[]): Promise<void> {
    return this.#ask('SUBSCRIBE', channels, channels.length);
  }

  /** @throws Error if the connection is down or is lost */
  unsubscribe(...channels: string[]): Promise<void> {
    return this.#ask('UNSUBSCRIBE', channels, channels.length);
  }

  /** @throws Error if the connection is down or is lost */
  ping(): Promise<void> {
    return this.#ask('PING', [], 1);
  }

  #ask(command: string, words: string[], replies: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.send(command, words);
      this.#waiting.push({ left: replies, resolve, reject });
    });
  }

  protected override get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  protected override received(reply: Reply): void {
    if (Array.isArray(reply) && reply[0] === 'message') {
      this.emit('message', reply[1] as string, reply[2] as string);
      return;
    }
    const [first] = this.#waiting;
    if (first === undefined || (--first.left > 0 && !(reply instanceof Error))) return;
    this.#waiting.shift();
    if (reply instanceof Error) first.reject(reply);
    else first.resolve();
  }

  protected override lost(): void {
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('Connection is closed.'));
  }
}
