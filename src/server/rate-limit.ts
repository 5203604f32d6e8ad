/**
 * How often a client address may come: the generic cell rate algorithm (ITU-T I.371), one number an address.
 * The number is the time at which the address would have used up nothing; it runs ahead of the clock as requests come.
 */
export class RateLimit {
  readonly #intervalMs: number;
  readonly #toleranceMs: number;
  readonly #theoreticalArrival = new Map<string, number>();
  #sweptAt = 0;

  /** `count` requests per `periodMs` on average, and up to `burst` at once. */
  constructor(count: number, periodMs: number, burst: number) {
    this.#intervalMs = periodMs / count;
    this.#toleranceMs = this.#intervalMs * burst;
  }

  /** Counts one request. 0 when it may pass, else the milliseconds until one may. */
  take(address: string, now: number): number {
    const arrival = this.#arrival(address, now);
    const waitMs = arrival - now - this.#toleranceMs;
    if (waitMs > WHOLE) return waitMs;
    this.#theoreticalArrival.set(address, arrival);
    if (this.#theoreticalArrival.size > MAX_ADDRESSES) this.#sweep(now);
    return 0;
  }

  /** Addresses remembered. */
  get size(): number {
    return this.#theoreticalArrival.size;
  }

  /** Takes back what `take` counted: it was not used. */
  giveBack(address: string): void {
    const arrival = this.#theoreticalArrival.get(address);
    if (arrival !== undefined) this.#theoreticalArrival.set(address, arrival - this.#intervalMs);
  }

  /** Bounded, so that a clock set back does not lock anybody out. */
  #arrival(address: string, now: number): number {
    const previous = Math.min(this.#theoreticalArrival.get(address) ?? 0, now + 2 * this.#toleranceMs);
    return Math.max(now, previous) + this.#intervalMs;
  }

  /** Forgets addresses that have nothing used up; under a flood of addresses, the ones seen first. */
  #sweep(now: number): void {
    if (now - this.#sweptAt > 1000) {
      this.#sweptAt = now;
      for (const [address, arrival] of this.#theoreticalArrival) if (arrival <= now) this.#theoreticalArrival.delete(address);
    }
    for (const address of this.#theoreticalArrival.keys()) {
      if (this.#theoreticalArrival.size <= MAX_ADDRESSES) break;
      this.#theoreticalArrival.delete(address);
    }
  }
}

/** Sums of fractions of a millisecond are not exact; a burst of n must still let exactly n pass. */
const WHOLE = 1e-6;

/** About 10 MB at the most. */
const MAX_ADDRESSES = 100_000;
