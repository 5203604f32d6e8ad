import { LruCache } from './lru-cache.ts';
import type { Daily, Granted, Reservations } from './reservations.ts';

/** The units of one address that this process has taken from the daily budget, and may let through without taking more. */
interface Bundle {
  left: number;
  /** All units that the process has taken from the daily budget since it first met the address. */
  came: number;
  /** The units that this process has reported as written. The method `told` adds to them. */
  told: number;
  /**
   * The call under way that takes more units from the daily budget. It resolves to 0 once there are units, else to the milliseconds to
   * wait.
   */
  asked: Promise<number> | undefined;
}

/**
 * A daily budget of each address, such as ledger entries (LEDGER_ENTRIES_PER_DAY) or bytes of saves (SAVE_BYTES_PER_DAY), as one process
 * uses it. The process takes bundles, each a thousandth of the budget. So a worker asks the primary process only once in 100 credits of an
 * address, and a process without workers rarely computes the limit. Other workers cannot use the rest of a worker's bundle, so they may
 * refuse an address when a thousandth of its budget is still left. The workers together never let more through than the budget has.
 */
export class DailyBudget {
  readonly #kind: Daily;
  readonly #reservations: Reservations;
  readonly #bundleSize: number;
  readonly #notableFrom: number;
  readonly #bundles: LruCache<string, Bundle>;
  readonly #notable = new Set<string>();
  /** The bundles of addresses that the cache has dropped. Their unused units still have to be given back. */
  readonly #forgotten: Generator<[group: string, bundle: Bundle]>[] = [];

  constructor(kind: Daily, perDay: number, reservations: Reservations) {
    this.#kind = kind;
    // With a small budget a bundle is one unit, so that several workers together can use the whole budget.
    this.#bundleSize = Math.max(1, Math.floor(perDay / 1000));
    this.#notableFrom = perDay * NOTABLE_PART;
    this.#reservations = reservations;
    this.#bundles = new LruCache(MOST_ADDRESSES, (dropped) => this.#forgotten.push(dropped));
  }

  /** Takes units from the address's budget. @returns 0 if there are as many, else the milliseconds until there are */
  take(group: string, count = 1): number | Promise<number> {
    if (this.#forgotten.length > 0) this.#forget();
    const bundle = this.#bundles.get(group) ?? this.#open(group);
    if (bundle.left >= count) {
      bundle.left -= count;
      return 0;
    }
    // The first caller, whose call took the units, uses some of them first. So each call serves at least one caller.
    if (bundle.asked !== undefined) return bundle.asked.then((waitMs) => (waitMs > 0 && count === 1 ? waitMs : this.take(group, count)));
    const granted = this.#reservations.takeDaily(this.#kind, group, count, Math.max(count, this.#bundleSize));
    if (!(granted instanceof Promise)) return this.#add(group, bundle, granted, count);
    bundle.asked = granted.then((found) => {
      bundle.asked = undefined;
      return this.#add(group, bundle, found, count);
    });
    return bundle.asked;
  }

  /** Gives back units that `take` granted and whose data was not written. */
  giveBack(group: string, count = 1): void {
    const bundle = this.#bundles.get(group) ?? this.#open(group);
    if (bundle.left + count < this.#bundleSize) {
      bundle.left += count;
      return;
    }
    bundle.came -= count;
    this.#reservations.giveBackDaily(this.#kind, group, count);
  }

  /**
   * The addresses that used up a hundredth of their budget or more in this process, each with the number of units since the last report
   * (`told`).
   */
  grown(): { readonly group: string; readonly count: number }[] {
    return [...this.#notable]
      .map((group) => ({ group, count: this.#since(group) }))
      .filter(({ count }) => count > 0)
      .toSorted((one, other) => other.count - one.count);
  }

  /** Notes that the units reported by `grown` were written to Redis. */
  told(group: string, count: number): void {
    const bundle = this.#bundles.peek(group);
    if (bundle !== undefined) bundle.told += count;
  }

  #since(group: string): number {
    const bundle = this.#bundles.peek(group);
    return bundle === undefined ? 0 : bundle.came - bundle.left - bundle.told;
  }

  /**
   * Gives back the units of some dropped addresses. The cache drops 50,000 addresses at once. Giving back all their units in one go stopped
   * the event loop for 150 ms.
   */
  #forget(): void {
    for (let count = 0; count < FORGOTTEN_AT_ONCE; count++) {
      const { done, value } = this.#forgotten[0]!.next();
      if (done === true) return void this.#forgotten.shift();
      const [group, { left }] = value;
      if (this.#bundles.peek(group) === undefined) this.#notable.delete(group);
      if (left > 0) this.#reservations.giveBackDaily(this.#kind, group, left);
    }
  }

  #open(group: string): Bundle {
    const bundle: Bundle = { left: 0, came: 0, told: 0, asked: undefined };
    this.#bundles.set(group, bundle);
    return bundle;
  }

  #add(group: string, bundle: Bundle, { count, waitMs }: Granted, used: number): number {
    if (count === 0) return waitMs;
    bundle.left += count - used;
    bundle.came += count;
    if (bundle.came >= this.#notableFrom) this.#notable.add(group);
    return 0;
  }
}

/**
 * The part of the daily budget that an address must have used before it is reported. Most addresses write a few units a day, which is not
 * worth a report.
 */
const NOTABLE_PART = 0.01;

/**
 * How many dropped bundles are given back whenever units are taken. Taken units and their return add at most two addresses to the cache,
 * so all dropped bundles are given back before the cache drops the next ones.
 */
const FORGOTTEN_AT_ONCE = 4;

/** The most addresses whose bundles are kept in memory: about 10 MB. */
const MOST_ADDRESSES = 100_000;
