/**
 * Limits the requests of each client address: the generic cell rate algorithm (ITU-T I.371). It keeps one number for each address, the time
 * at which the address's whole burst is available again. Every request moves this time ahead of the clock.
 */
export class RateLimit {
  readonly #intervalMs: number;
  readonly #burst: number;
  readonly #toleranceMs: number;
  readonly #theoreticalArrival = new Map<string, number>();
  #sweptAt = 0;

  /** Allows `count` requests per `periodMs` on average, and up to `burst` at once. */
  constructor(count: number, periodMs: number, burst: number) {
    this.#intervalMs = periodMs / count;
    this.#burst = burst;
    this.#toleranceMs = this.#intervalMs * burst;
  }

  /**
   * Counts one request.
   * @returns 0 if it may pass, else the milliseconds until one may
   * @param now on a monotonic clock, because the stored times lie ahead of it and must not fall behind a clock that was set
   */
  take(address: string, now: number): number {
    return this.#take(address, now, 1);
  }

  /**
   * Counts the extra cost of a request that has passed, in requests. At most half a burst is charged, so that a client that waits gets its
   * answer even if the burst is small.
   * @returns 0, or the milliseconds after which the request may be sent again
   */
  takeMore(address: string, now: number, count: number): number {
    const waitMs = this.#take(address, now, Math.min(count, Math.floor(this.#burst / 2)));
    // When the client sends the request again, it counts as one more request.
    return waitMs === 0 ? 0 : waitMs + this.#intervalMs;
  }

  /**
   * Counts as many requests as may pass now: no fewer than `least`, and no more than `most`. If `least` may not pass, counts none.
   * @returns the number of requests that may pass; if it is 0, `waitMs` is the time until `least` may pass
   */
  takeUpTo(address: string, now: number, least: number, most: number): { readonly count: number; readonly waitMs: number } {
    const waitMs = this.#take(address, now, least);
    if (waitMs > 0) return { count: 0, waitMs };
    const left = this.#toleranceMs - (this.#theoreticalArrival.get(address)! - now);
    const more = Math.min(most - least, Math.floor((left + ROUNDING_MS) / this.#intervalMs));
    if (more > 0) this.#take(address, now, more);
    return { count: least + Math.max(0, more), waitMs: 0 };
  }

  #take(address: string, now: number, count: number): number {
    const arrival = Math.max(now, this.#theoreticalArrival.get(address) ?? now) + count * this.#intervalMs;
    const waitMs = arrival - now - this.#toleranceMs;
    if (waitMs > ROUNDING_MS) return waitMs;
    // The sweep comes before the address is added, so that it does not drop the new address.
    if (this.#theoreticalArrival.size >= MAX_ADDRESSES && !this.#theoreticalArrival.has(address)) this.#sweep(now);
    this.#theoreticalArrival.set(address, arrival);
    return 0;
  }

  /** The number of addresses in memory. */
  get size(): number {
    return this.#theoreticalArrival.size;
  }

  /** Gives back requests that were counted but turned out not to count against the limit. */
  giveBack(address: string, count = 1): void {
    const arrival = this.#theoreticalArrival.get(address);
    if (arrival !== undefined) this.#theoreticalArrival.set(address, arrival - count * this.#intervalMs);
  }

  /**
   * Drops addresses whose whole burst is available. If there are still too many, also drops the addresses that have used the smallest part
   * of their burst.
   */
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
   * The time by which about FORGOTTEN_AT_ONCE addresses will have their burst back: those that have used the smallest part. Addresses that
   * have used up their burst must stay. If a flood of other addresses could make the limit drop them, their clients would get a new burst.
   * The sample is random, so no client can know which addresses are in it.
   */
  #leastUsed(): number {
    const sample: number[] = [];
    for (const arrival of this.#theoreticalArrival.values()) if (Math.random() < SAMPLED_PART) sample.push(arrival);
    sample.sort((one, other) => one - other);
    return sample[Math.floor((sample.length * FORGOTTEN_AT_ONCE) / MAX_ADDRESSES)] ?? Infinity;
  }
}

/** The tolerance, in milliseconds, for sums of fractions, which are not exact: exactly n requests must pass at once with a burst of n. */
const ROUNDING_MS = 1e-6;

/** The most addresses kept in memory: about 10 MB. */
const MAX_ADDRESSES = 100_000;

/**
 * How many addresses are dropped at a time. That takes some 5 ms. Dropping one for each new address would mean reading all addresses each
 * time.
 */
const FORGOTTEN_AT_ONCE = 10_000;

/**
 * The part of the addresses that the sample holds and that is sorted. Sorting all addresses would take ten times as long as reading each
 * once.
 */
const SAMPLED_PART = 0.01;
