/** A timer for the moment when a state changes without a message (an expiry). */
export class ChangeTimer {
  readonly #now: () => number;
  readonly #changed: () => void;
  #changesAt = Infinity;
  /** When the timer fires: perhaps before the change, never after. */
  #firesAt = Infinity;
  #timer: NodeJS.Timeout | undefined;

  /** @param changed called after the change */
  constructor(now: () => number, changed: () => void) {
    this.#now = now;
    this.#changed = changed;
  }

  /**
   * The timer is set again only if the change comes earlier. Most changes postpone the expiry, and a timer that sometimes fires too early
   * costs less than a new timer at every change.
   */
  set(changesAt: number): void {
    this.#changesAt = changesAt;
    if (changesAt < this.#firesAt) this.#start();
  }

  postpone(changesAt: number): void {
    this.#changesAt = Math.max(this.#changesAt, changesAt);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#firesAt = Infinity;
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#firesAt = this.#changesAt;
    if (this.#firesAt === Infinity) return;
    // setTimeout takes at most 2^31 − 1 ms, 24.8 days.
    const waitMs = Math.min(Math.max(this.#firesAt - this.#now(), 0) + 5, 2 ** 31 - 1);
    this.#timer = setTimeout(() => {
      if (this.#changesAt > this.#now()) return this.#start();
      this.#firesAt = Infinity;
      this.#changed();
    }, waitMs);
  }
}
