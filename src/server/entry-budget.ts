import { LruCache } from './lru-cache.ts';
import { bundleOf, type Granted, type Reservations } from './reservations.ts';

/** The ledger entries of one address that this process has taken from the daily budget, and may let through without taking more. */
interface Bundle {
  left: number;
  /** All entries that the process has taken from the daily budget since it first met the address. */
  came: number;
  /** The entries that the process has reported so far (`told`). */
  told: number;
  /**
   * The call under way that takes more entries from the daily budget. It resolves to 0 once there are entries, else to the milliseconds to
   * wait.
   */
  asked: Promise<number> | undefined;
}

/**
 * The daily budget of ledger entries of each address (LEDGER_ENTRIES_PER_DAY), as one process uses it. The process takes bundles, each a
 * thousandth of the budget. So a worker asks its primary only once in 100 credits of an address, and a process without workers saves the
 * arithmetic of the limit. Other workers cannot use the rest of a worker's bundle, so they may refuse an address a thousandth of its budget
 * too early. The workers together never let more entries through than the budget has.
 */
export class EntryBudget {
  readonly #reservations: Reservations;
  readonly #bundleSize: number;
  readonly #notableFrom: number;
  readonly #bundles: LruCache<string, Bundle>;
  readonly #notable = new Set<string>();
  /** The bundles of addresses that the cache has dropped. Their unused entries still have to be given back. */
  readonly #forgotten: Generator<[group: string, bundle: Bundle]>[] = [];

  constructor(entriesPerDay: number, reservations: Reservations) {
    this.#bundleSize = bundleOf(entriesPerDay);
    this.#notableFrom = entriesPerDay * NOTABLE_PART;
    this.#reservations = reservations;
    this.#bundles = new LruCache(MOST_ADDRESSES, (dropped) => this.#forgotten.push(dropped));
  }

  /** Takes one ledger entry from the address's budget. @returns 0 if there is one, else the milliseconds until there is one */
  take(group: string): number | Promise<number> {
    if (this.#forgotten.length > 0) this.#forget();
    const bundle = this.#bundles.get(group) ?? this.#open(group);
    if (bundle.left > 0) {
      bundle.left--;
      return 0;
    }
    // The caller whose call took the entries uses the first of them, so each call serves at least one caller.
    if (bundle.asked !== undefined) return bundle.asked.then((waitMs) => (waitMs > 0 ? waitMs : this.take(group)));
    const granted = this.#reservations.takeEntries(group);
    if (!(granted instanceof Promise)) return this.#add(group, bundle, granted);
    bundle.asked = granted.then((found) => {
      bundle.asked = undefined;
      return this.#add(group, bundle, found);
    });
    return bundle.asked;
  }

  /** Gives back an entry that `take` gave and that was not written. */
  giveBack(group: string): void {
    const bundle = this.#bundles.get(group) ?? this.#open(group);
    if (bundle.left + 1 < this.#bundleSize) {
      bundle.left++;
      return;
    }
    bundle.came--;
    this.#reservations.giveBackEntries(group, 1);
  }

  /**
   * The addresses that used up a hundredth of their budget or more in this process, each with the number of entries since the last report
   * (`told`).
   */
  grown(): { readonly group: string; readonly entries: number }[] {
    return [...this.#notable]
      .map((group) => ({ group, entries: this.#since(group) }))
      .filter(({ entries }) => entries > 0)
      .toSorted((one, other) => other.entries - one.entries);
  }

  /** Notes that entries which `grown` has reported were written to Redis. */
  told(group: string, entries: number): void {
    const bundle = this.#bundles.peek(group);
    if (bundle !== undefined) bundle.told += entries;
  }

  #since(group: string): number {
    const bundle = this.#bundles.peek(group);
    return bundle === undefined ? 0 : bundle.came - bundle.left - bundle.told;
  }

  /**
   * Gives back the entries of some dropped addresses. The cache drops 50,000 addresses at once, and giving back all their entries at once
   * stopped the event loop for 150 ms.
   */
  #forget(): void {
    for (let count = 0; count < FORGOTTEN_AT_ONCE; count++) {
      const { done, value } = this.#forgotten[0]!.next();
      if (done === true) return void this.#forgotten.shift();
      const [group, { left }] = value;
      if (this.#bundles.peek(group) === undefined) this.#notable.delete(group);
      if (left > 0) this.#reservations.giveBackEntries(group, left);
    }
  }

  #open(group: string): Bundle {
    const bundle: Bundle = { left: 0, came: 0, told: 0, asked: undefined };
    this.#bundles.set(group, bundle);
    return bundle;
  }

  #add(group: string, bundle: Bundle, { count, waitMs }: Granted): number {
    if (count === 0) return waitMs;
    bundle.left += count - 1;
    bundle.came += count;
    if (bundle.came >= this.#notableFrom) this.#notable.add(group);
    return 0;
  }
}

/**
 * The part of the daily budget from which on an address is reported. Most addresses write a few entries a day, which is not worth a report.
 */
const NOTABLE_PART = 0.01;

/**
 * How many dropped bundles are given back whenever an entry is taken. A taken entry and its return add at most two addresses to the cache,
 * so all dropped bundles are given back before the cache drops the next ones.
 */
const FORGOTTEN_AT_ONCE = 4;

/** The most addresses whose bundles are kept in memory: about 10 MB. */
const MOST_ADDRESSES = 100_000;
