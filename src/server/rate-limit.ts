/**
 * Bounds the requests of each client address: the generic cell rate algorithm (ITU-T I.371), with one number an address. The
 * number is the time at which the address's whole burst is available again. Every request moves it ahead of the clock.
 */
export class RateLimit {
  readonly #intervalMs: number;
  readonly #burst: number;
  readonly #toleranceMs: number;
  readonly #theoreticalArrival = new Map<string, number>();
  #sweptAt = 0;

  /** `count` requests per `periodMs` on average, and up to `burst` at once. */
  constructor(count: number, periodMs: number, burst: number) {
    this.#intervalMs = periodMs / count;
    this.#burst = burst;
    this.#toleranceMs = this.#intervalMs * burst;
  }

  /**
   * Counts one request. 0 if it may pass, else the milliseconds until one may.
   * @param now on a monotonic clock: the addresses' times lie ahead of it, and no clock may be set behind them
   */
  take(address: string, now: number): number {
    return this.#take(address, now, 1);
  }

  /**
   * Counts the cost of a passed request beyond one request. At most half a burst is charged, so that a client that waits gets its answer
   * however small the burst is.
   * @returns 0, or the milliseconds after which the request may be sent again
   */
  takeMore(address: string, now: number, count: number): number {
    const waitMs = this.#take(address, now, Math.min(count, Math.floor(this.#burst / 2)));
    // The request that is sent again counts, too.
    return waitMs === 0 ? 0 : waitMs + this.#intervalMs;
  }

  /**
   * Counts as many requests as may pass, `most` at most.
   * @returns their number, or 0 and the milliseconds until one may pass
   */
  takeUpTo(address: string, now: number, most: number): { readonly count: number; readonly waitMs: number } {
    const waitMs = this.take(address, now);
    if (waitMs > 0) return { count: 0, waitMs };
    const left = this.#toleranceMs - (this.#theoreticalArrival.get(address)! - now);
    const more = Math.min(most - 1, Math.floor((left + ROUNDING_MS) / this.#intervalMs));
    if (more > 0) this.#take(address, now, more);
    return { count: 1 + Math.max(0, more), waitMs: 0 };
  }

  #take(address: string, now: number, count: number): number {
    const arrival = Math.max(now, this.#theoreticalArrival.get(address) ?? now) + count * this.#intervalMs;
    const waitMs = arrival - now - this.#toleranceMs;
    if (waitMs > ROUNDING_MS) return waitMs;
    // Sweeps before the address is added, so that this address is not forgotten.
    if (this.#theoreticalArrival.size >= MAX_ADDRESSES && !this.#theoreticalArrival.has(address)) this.#sweep(now);
    this.#theoreticalArrival.set(address, arrival);
    return 0;
  }

  /** Number of addresses remembered. */
  get size(): number {
    return this.#theoreticalArrival.size;
  }

  /** Takes back requests that were counted and turned out not to count. */
  giveBack(address: string, count = 1): void {
    const arrival = this.#theoreticalArrival.get(address);
    if (arrival !== undefined) this.#theoreticalArrival.set(address, arrival - count * this.#intervalMs);
  }

  /** Forgets addresses whose whole burst is available; under a flood of addresses, also those that have used least. */
  #sweep(now: number): void {
    if (now - this.#sweptAt > 1000) {
      this.#sweptAt = now;
      for (const [address, arrival] of this.#theoreticalArrival) if (arrival <= now) this.#theoreticalArrival.delete(address);
    }
    if (this.#theoreticalArrival.size < MAX_ADDRESSES) return;
    const least = this.#leastUsed();
    for (const [address, arrival] of this.#theoreticalArrival) {
      if (arrival > least) continue;
      this.#theoreticalArrival.delete(address);
      if (this.#theoreticalArrival.size < MAX_ADDRESSES - FORGOTTEN_AT_ONCE) return;
    }
  }

  /**
   * A time: about FORGOTTEN_AT_ONCE addresses, those that have used least, have their burst back before it. If a flood of addresses made
   * the limit forget addresses that have used up their burst, their clients could begin anew. The sample is random, so no client knows
   * which addresses are in it.
   */
  #leastUsed(): number {
    const sample: number[] = [];
    for (const arrival of this.#theoreticalArrival.values()) if (Math.random() < SAMPLED_PART) sample.push(arrival);
    sample.sort((one, other) => one - other);
    return sample[Math.floor((sample.length * FORGOTTEN_AT_ONCE) / MAX_ADDRESSES)] ?? Infinity;
  }
}

/** Tolerance for sums of fractions of a millisecond, which are not exact: a burst of n must let exactly n requests pass. */
const ROUNDING_MS = 1e-6;

/** About 10 MB. */
const MAX_ADDRESSES = 100_000;

/** Forgetting one address for each new one would read all addresses each time. Forgetting ten thousand at once takes some 5 ms. */
const FORGOTTEN_AT_ONCE = 10_000;

/** Sorting all addresses would take ten times as long as going through them. */
const SAMPLED_PART = 0.01;
