import { setTimeout as pause } from 'node:timers/promises';

/**
 * The probability of each fault, in a thousandth. The faults are far more frequent than in a real store, so that a minute shows the faults
 * of a year.
 */
const LOST = 150;
const DOUBLED = 150;
const LATE = 300;
const SLOW = 100;
const FAILS = 80;
const FAILS_AFTERWARDS = 30;
const REFUNDS = 20;

/** The longest delay of a notification, in milliseconds. Other notifications may overtake a delayed one. */
const LATEST_MS = 3000;

const SLOWEST_MS = 1500;

/**
 * Random faults of a store (setting SANDBOX_CHAOS). Notifications come late, twice, in another order or never. The API is slow, fails, or
 * fails after it has done its work. Purchases are refunded. A seed gives the same random numbers each time. Which call gets which number
 * depends on the order of the calls.
 */
export class Chaos {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** The delays, in milliseconds, after which a notification is delivered: no delay if it is lost, two if it comes twice. */
  deliveries(): number[] {
    if (this.#happens(LOST)) return [];
    const delay = () => (this.#happens(LATE) ? this.#upTo(LATEST_MS) : 0);
    return this.#happens(DOUBLED) ? [delay(), delay()] : [delay()];
  }

  /** Waits as long as a slow API would. @returns whether the call fails before it does its work, fails after it, or works */
  async ofCall(): Promise<'fails' | 'fails_afterwards' | 'works'> {
    if (this.#happens(SLOW)) await pause(this.#upTo(SLOWEST_MS));
    if (this.#happens(FAILS)) return 'fails';
    return this.#happens(FAILS_AFTERWARDS) ? 'fails_afterwards' : 'works';
  }

  /** How many of a purchase's remaining units the store refunds at this moment. Mostly 0. */
  refund(units: number): number {
    return units > 0 && this.#happens(REFUNDS) ? 1 + this.#upTo(units) : 0;
  }

  #happens(chance: number): boolean {
    return this.#upTo(1000) < chance;
  }

  /** A random whole number from 0 to `end` − 1, by mulberry32 (https://gist.github.com/tommyettinger/46a874533244883189143505d203312c). */
  #upTo(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  }
}
