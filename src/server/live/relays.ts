import type { LiveCounts } from './live-counts.ts';
import { noticeOf, type Relayed, type Watcher } from './watcher.ts';

/** Messages may use this much of the topic's bytes per second ahead of time. Further messages are missed. */
const RELAYED_AT_ONCE_MS = 1000;

export interface RelaysOptions {
  /** All watchers of the topic. */
  readonly watchers: ReadonlySet<Watcher>;
  readonly counts: LiveCounts;
  /** The time for which a message of this length, to this number of watchers, uses up the topic's bytes per second. */
  readonly millisecondsPaidFor: (bytes: number, watchers: number) => number;
}

interface Waiting extends Relayed {
  /** Undefined: all. */
  readonly only: ReadonlySet<Watcher> | undefined;
}

/**
 * The messages that a topic passes on: once, in one order, and not kept. They are sent to each socket, not published: uWS does not tell
 * which of several published messages it dropped, and sends later ones before the socket has learnt which it missed.
 */
export class Relays {
  readonly #options: RelaysOptions;
  /** Number of the last message. */
  #last = 0;
  /** Number of the last message before the topic was opened. Undefined: not known. */
  #lastBefore: number | undefined;
  /** The messages of one read from Redis: a socket gets them in one write. */
  readonly #waiting: Waiting[] = [];
  /** The numbers of the first and the last message that no watcher got. */
  #missed: { from: number; to: number } | undefined;
  #tellingMissed: NodeJS.Timeout | undefined;
  /** The sent messages have used up the topic's bytes per second until this time, on the clock of `performance.now()`. */
  #paidUntil = -Infinity;

  constructor(options: RelaysOptions) {
    this.#options = options;
  }

  get last(): number {
    return this.#last;
  }

  /** The topic was opened after the message of this number, so a later message that does not arrive was lost. */
  openedAfter(number: number): void {
    this.#lastBefore ??= number;
  }

  /** @param to the watchers that get the message; undefined: all */
  take(number: number, message: string, to: ReadonlySet<Watcher> | undefined): void {
    // The messages in between were lost on their way from Redis.
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
    // Before this message, so that no notice names messages before and after it.
    this.#tellMissed();
    this.#send({ message, from: number, to: number, isNotice: false, only: to });
  }

  /** Sends what waits for the end of the turn, and nothing later. */
  stop(): void {
    clearTimeout(this.#tellingMissed);
    this.#tellingMissed = undefined;
    this.flush();
  }

  #send(waiting: Waiting): void {
    if (this.#waiting.push(waiting) === 1) queueMicrotask(() => this.flush());
  }

  /** Sends what waits for the end of the turn. */
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

  /** Counts the message against the topic's bytes a second. Messages that use up to a second's bytes may go out at once. */
  #pays(message: string, count: number): boolean {
    const { watchers, millisecondsPaidFor } = this.#options;
    const now = performance.now();
    const noticeMs = this.#missed === undefined ? 0 : millisecondsPaidFor(noticeOf(this.#missed).length, watchers.size);
    const paidUntil = Math.max(this.#paidUntil, now) + noticeMs + millisecondsPaidFor(Buffer.byteLength(message), count);
    if (paidUntil > now + RELAYED_AT_ONCE_MS) return false;
    this.#paidUntil = paidUntil;
    return true;
  }

  /** The messages are lost for all watchers. They get the notice before the next message, or once the topic may send again. */
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
