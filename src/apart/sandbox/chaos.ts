import { setTimeout as pause } from 'node:timers/promises';

/** Chances of a fault, in a thousand. They are far higher than in a real store, so that a minute shows the faults of a year. */
const LOST = 150;
const DOUBLED = 150;
const LATE = 300;
const SLOW = 100;
const FAILS = 80;
const FAILS_AFTERWARDS = 30;
const REFUNDS = 20;

/** Longest delay of a notification. Later notifications may overtake it. */
const LATEST_MS = 3000;

const SLOWEST_MS = 1500;

/**
 * Random faults of a store (setting SANDBOX_CHAOS): notifications come late, twice, in another order or never; the API is slow, fails, or
 * fails after it has done its work; purchases are refunded. A seed gives the same random numbers each time. Which call gets which number
 * depends on the order of the calls.
 */
export class Chaos {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** Delays after which one notification is delivered, in milliseconds: none, one or two. */
  deliveries(): number[] {
    if (this.#happens(LOST)) return [];
    const delay = () => (this.#happens(LATE) ? this.#upTo(LATEST_MS) : 0);
    return this.#happens(DOUBLED) ? [delay(), delay()] : [delay()];
  }

  /** Waits as a slow API does. @returns whether the call fails before it does anything, or afterwards */
  async ofCall(): Promise<'fails' | 'fails_afterwards' | 'works'> {
    if (this.#happens(SLOW)) await pause(this.#upTo(SLOWEST_MS));
    if (this.#happens(FAILS)) return 'fails';
    return this.#happens(FAILS_AFTERWARDS) ? 'fails_afterwards' : 'works';
  }

  /** Units of a purchase that are refunded now. */
  refund(units: number): number {
    return units > 0 && this.#happens(REFUNDS) ? 1 + this.#upTo(units) : 0;
  }

  #happens(chance: number): boolean {
    return this.#upTo(1000) < chance;
  }

  /** A whole number from 0 to below `end`, by mulberry32 (https://gist.github.com/tommyettinger/46a874533244883189143505d203312c). */
  #upTo(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  }
}
