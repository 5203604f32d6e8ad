/**
 * The number of failures in a row that opens the circuit. Each failure is a call that failed after its own retries, so five of them are no
 * coincidence.
 */
const FAILURES_TO_OPEN = 5;

/**
 * Milliseconds for which an open circuit refuses calls before it lets one call test the server. The time is short, so that a recovery is
 * noticed soon.
 */
export const OPEN_MS = 10_000;

/**
 * A circuit breaker, with which callers do not wait for a server that does not answer. It opens after several failures in a row, lets one
 * call test the server every OPEN_MS, and closes when a call succeeds. `now` is the present time in milliseconds on a monotonic clock.
 */
export class Circuit {
  #failures = 0;
  #openUntil = 0;

  /**
   * @returns the milliseconds to wait before a call. At 0 the caller makes the call, and reports its outcome by `succeeded` or `failed`. If
   * several callers come after the wait, only the first gets 0. If this caller never reports an outcome, the circuit admits the next caller
   * OPEN_MS later.
   */
  admit(now: number): number {
    if (this.#failures < FAILURES_TO_OPEN) return 0;
    const waitMs = this.#openUntil - now;
    if (waitMs > 0) return waitMs;
    this.#openUntil = now + OPEN_MS;
    return 0;
  }

  /** Notes that a call succeeded. @returns whether this success closed the circuit */
  succeeded(): boolean {
    const wasOpen = this.#failures >= FAILURES_TO_OPEN;
    this.#failures = 0;
    return wasOpen;
  }

  /** Notes that a call failed. @returns whether this failure opened the circuit */
  failed(now: number): boolean {
    this.#failures++;
    if (this.#failures < FAILURES_TO_OPEN) return false;
    this.#openUntil = now + OPEN_MS;
    return this.#failures === FAILURES_TO_OPEN;
  }
}
