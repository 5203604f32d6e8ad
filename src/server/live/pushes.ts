/**
 * The shortest time between two pushes, in milliseconds: a watcher gets at most 60 states a second. States in between are skipped, but
 * never the latest.
 */
const PUSH_INTERVAL_MS = 17;

/**
 * Up to this number of watchers, the limit on bytes per second holds for the whole topic. Beyond this number the limit grows with the
 * watchers, so the interval between pushes depends only on the size of the state. One address has fewer watchers (SOCKETS_PER_ADDRESS, 200
 * by default), so its traffic keeps within the limit.
 */
const WATCHERS_WITHIN_BOUND = 1024;

export interface PushesOptions {
  /** The shortest time between two pushes, in milliseconds. Default: PUSH_INTERVAL_MS. */
  readonly intervalMs: number | undefined;
  /** As in `TopicOptions`. */
  readonly bytesPerSecond: number | undefined;
  /** Pushes the topic's latest state. */
  readonly push: () => void;
}

/** Decides when a topic may push, by its interval and its bytes per second. */
export class Pushes {
  readonly #options: PushesOptions;
  readonly intervalMs: number;
  /** The push that is due: `now` if it goes out at the end of this read from Redis, else the timer that sends it. */
  #due: NodeJS.Timeout | 'now' | undefined;
  #mayPushAt = -Infinity;

  constructor(options: PushesOptions) {
    this.#options = options;
    this.intervalMs = options.intervalMs ?? PUSH_INTERVAL_MS;
  }

  /** When the next push may go out at the earliest, on the clock of `performance.now()`. */
  get mayPushAt(): number {
    return this.#mayPushAt;
  }

  get areDue(): boolean {
    return this.#due !== undefined;
  }

  /** Whether a push goes out at the end of this read from Redis. */
  get areDueNow(): boolean {
    return this.#due === 'now';
  }

  /**
   * Pushes the latest state as soon as a push is allowed. Of several changes that come in one read from Redis, or before that moment, only
   * the last is pushed. A microtask is used because it saves a turn of the event loop between a change and its push.
   */
  soon(): void {
    if (this.#due !== undefined) return;
    const { push } = this.#options;
    // Rounded up, because timers drop fractions of a millisecond, which would allow 62 pushes a second.
    const waitMs = Math.ceil(this.#mayPushAt - performance.now());
    this.#due = waitMs > 0 ? setTimeout(push, waitMs) : 'now';
    if (this.#due === 'now') queueMicrotask(() => this.#due === 'now' && push());
  }

  cancel(): void {
    if (this.#due !== 'now') clearTimeout(this.#due);
    this.#due = undefined;
  }

  /** Counts a push. @param sent each of its messages, with the number of watchers that get it */
  pushed(...sent: readonly (readonly [message: string, watchers: number])[]): void {
    let paidMs = 0;
    for (const [message, watchers] of sent) paidMs += this.#millisecondsOf(message, watchers);
    this.#mayPushAt = performance.now() + Math.max(this.intervalMs, paidMs);
  }

  /** The time, in milliseconds, in which the topic's bytes per second pay for a message of this length to this number of watchers. */
  millisecondsPaidFor(bytes: number, watchers: number): number {
    const { bytesPerSecond } = this.#options;
    return bytesPerSecond === undefined ? 0 : (1000 * bytes * Math.min(watchers, WATCHERS_WITHIN_BOUND)) / bytesPerSecond;
  }

  /** Like `millisecondsPaidFor`, but for a text. The bytes of the text are counted only if they could delay the next push. */
  #millisecondsOf(message: string, watchers: number): number {
    const mostMs = this.millisecondsPaidFor(3 * message.length, watchers);
    return mostMs < PUSH_INTERVAL_MS ? mostMs : this.millisecondsPaidFor(Buffer.byteLength(message), watchers);
  }
}
