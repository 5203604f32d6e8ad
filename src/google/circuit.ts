/** A few failures may be chance; this many in a row, each after retries of its own, are not. */
const FAILURES_TO_OPEN = 5;

/** How long nothing is asked before one call may try again: short enough that a return is noticed soon. */
export const OPEN_MS = 10_000;

/**
 * Keeps callers from waiting for a server that does not answer: opens after failures in a row, lets one call probe
 * once in a while, and closes when one goes well.
 */
export class Circuit {
  #failures = 0;
  #openUntil = 0;

  /**
   * How many milliseconds to wait before asking; 0: ask, and then say how it went. Of those who come when the wait is
   * over only one is let through; should it never say how it went, another one is after the same while.
   */
  admit(now: number): number {
    if (this.#failures < FAILURES_TO_OPEN) return 0;
    const waitMs = this.#openUntil - now;
    // Longer than it was ever set: the clock was put back.
    if (waitMs > 0 && waitMs <= OPEN_MS) return waitMs;
    this.#openUntil = now + OPEN_MS;
    return 0;
  }

  /** Whether that closed it. */
  succeeded(): boolean {
    const wasOpen = this.#failures >= FAILURES_TO_OPEN;
    this.#failures = 0;
    return wasOpen;
  }

  /** Whether that opened it. */
  failed(now: number): boolean {
    this.#failures++;
    if (this.#failures < FAILURES_TO_OPEN) return false;
    this.#openUntil = now + OPEN_MS;
    return this.#failures === FAILURES_TO_OPEN;
  }
}
