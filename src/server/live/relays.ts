import type { LiveCounts } from './live-counts.ts';
import { noticeOf, type Relayed, type Watcher } from './watcher.ts';

/**
 * How far relayed messages may run ahead of the topic's bytes per second, in milliseconds. Further messages are not sent, and count as
 * missed.
 */
const RELAYED_AT_ONCE_MS = 1000;

export interface RelaysOptions {
  /** All watchers of the topic. */
  readonly watchers: ReadonlySet<Watcher>;
  readonly counts: LiveCounts;
  /** The time, in milliseconds, in which the topic's bytes per second pay for a message of this length to this number of watchers. */
  readonly millisecondsPaidFor: (bytes: number, watchers: number) => number;
}

interface Waiting extends Relayed {
  /** The watchers that get the message. Undefined: all. */
  readonly only: ReadonlySet<Watcher> | undefined;
}

/**
 * The messages that a topic passes on. Each is sent once, in the same order to all, and is not kept. They are sent to each socket one by
 * one, not published on a uWS topic. If uWS drops some of several published messages, it does not tell which, and it sends later messages
 * before the client has learnt which ones it missed.
 */
export class Relays {
  readonly #options: RelaysOptions;
  /** The number of the last message that arrived. */
  #last = 0;
  /** The number of the last message before the topic was opened. Undefined: not known. */
  #lastBefore: number | undefined;
  /** The messages that arrived in one read from Redis. A socket gets them in one write. */
  readonly #waiting: Waiting[] = [];
  /** The first and the last number of the messages that no watcher got and that the watchers do not know of yet. */
  #missed: { from: number; to: number } | undefined;
  #tellingMissed: NodeJS.Timeout | undefined;
  /** The time until which the topic's bytes per second pay for the messages that were sent, on the clock of `performance.now()`. */
  #paidUntil = -Infinity;

  constructor(options: RelaysOptions) {
    this.#options = options;
  }

  get last(): number {
    return this.#last;
  }

  /** Notes the number of the last message before the topic was opened. A later message that does not arrive was lost. */
  openedAfter(number: number): void {
    this.#lastBefore ??= number;
  }

  /** Relays a message. @param to the watchers that get the message; undefined: all */
  take(number: number, message: string, to: ReadonlySet<Watcher> | undefined): void {
    // The messages between the last one and this one were lost on their way from Redis.
    const last = this.#last > 0 ? this.#last : (this.#lastBefore ?? number);
    if (number > last + 1) this.#miss(last + 1, number - 1);
    this.#last = number;
    const { watchers, counts } = this.#options;
    const { size } = to ?? watchers;
    if (size === 0) return;
    counts.messages += size;
    if (!this.#pays(message, size)) {
      counts.messagesMissed += size;
      return this.#miss(number, number);
    }
    // The notice of missed messages goes out before this message. Otherwise one notice could cover numbers before and after a message that
    // was sent.
    this.#tellMissed();
    this.#send({ message, from: number, to: number, isNotice: false, only: to });
  }

  /** Sends the messages that wait for the end of the event loop's turn. A waiting notice of missed messages is no longer sent. */
  stop(): void {
    clearTimeout(this.#tellingMissed);
    this.#tellingMissed = undefined;
    this.flush();
  }

  #send(waiting: Waiting): void {
    if (this.#waiting.push(waiting) === 1) queueMicrotask(() => this.flush());
  }

  /** Sends the messages that wait for the end of the event loop's turn. */
  flush(): void {
    const { watchers, counts } = this.#options;
    const waiting = this.#waiting.splice(0);
    const [message] = waiting;
    if (message === undefined) return;
    const concerned = waiting.length === 1 ? (message.only ?? watchers) : watchers;
    for (const watcher of concerned) {
      const own = waiting.length === 1 ? waiting : waiting.filter(({ only }) => only === undefined || only.has(watcher));
      if (own.length > 0) counts.messagesMissed += watcher.relay(own);
    }
  }

  /**
   * Counts the message against the topic's bytes per second. A second's bytes may be used up at once.
   * @returns whether the message may be sent
   */
  #pays(message: string, count: number): boolean {
    const { watchers, millisecondsPaidFor } = this.#options;
    const now = performance.now();
    const noticeMs = this.#missed === undefined ? 0 : millisecondsPaidFor(noticeOf(this.#missed).length, watchers.size);
    const paidUntil = Math.max(this.#paidUntil, now) + noticeMs + millisecondsPaidFor(Buffer.byteLength(message), count);
    if (paidUntil > now + RELAYED_AT_ONCE_MS) return false;
    this.#paidUntil = paidUntil;
    return true;
  }

  /** Notes messages that no watcher gets. The watchers are told before the next message, or after RELAYED_AT_ONCE_MS. */
  #miss(from: number, to: number): void {
    this.#missed = { from: this.#missed?.from ?? from, to };
    this.#tellingMissed ??= setTimeout(() => this.#tellMissed(), RELAYED_AT_ONCE_MS);
  }

  #tellMissed(): void {
    clearTimeout(this.#tellingMissed);
    this.#tellingMissed = undefined;
    const missed = this.#missed;
    this.#missed = undefined;
    if (missed !== undefined) this.#send({ message: noticeOf(missed), ...missed, isNotice: true, only: undefined });
  }
}
