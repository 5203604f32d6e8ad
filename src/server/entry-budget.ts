import { LruCache } from './lru-cache.ts';
import { bundleOf, type Granted, type Reservations } from './reservations.ts';

/** Entries of one address that this process may let through without asking again. */
interface Bundle {
  left: number;
  /** Entries that came for the address since it was first met. */
  came: number;
  /** Entries that `told` has reported so far. */
  told: number;
  /** The pending request for more entries: resolves to 0 or milliseconds to wait. */
  asked: Promise<number> | undefined;
}

/**
 * The daily budget of ledger entries of each address (LEDGER_ENTRIES_PER_DAY), as a process draws on it. The process takes entries in
 * bundles of a thousandth of the budget. So a worker asks its primary only once in 100 credits of an address, and a process without workers
 * saves the arithmetic of the limit. Other workers cannot use the rest of a worker's bundle, so they may refuse an address a thousandth of
 * its budget too early. No worker lets an entry too many through.
 */
export class EntryBudget {
  readonly #reservations: Reservations;
  readonly #bundleSize: number;
  readonly #notableFrom: number;
  readonly #bundles: LruCache<string, Bundle>;
  readonly #notable = new Set<string>();
  /** Bundles that the cache has dropped. Their unused entries have to be given back. */
  readonly #forgotten: Generator<[group: string, bundle: Bundle]>[] = [];

  constructor(entriesPerDay: number, reservations: Reservations) {
    this.#bundleSize = bundleOf(entriesPerDay);
    this.#notableFrom = entriesPerDay * NOTABLE_PART;
    this.#reservations = reservations;
    this.#bundles = new LruCache(MOST_ADDRESSES, (dropped) => this.#forgotten.push(dropped));
  }

  /** Takes one entry. 0 if the address has one left, else the milliseconds until it has one. */
  take(group: string): number | Promise<number> {
    if (this.#forgotten.length > 0) this.#forget();
    const bundle = this.#bundles.get(group) ?? this.#open(group);
    if (bundle.left > 0) {
      bundle.left--;
      return 0;
    }
    // The caller that asked takes the first entry of the answer, so each answer serves at least one caller.
    if (bundle.asked !== undefined) return bundle.asked.then((waitMs) => (waitMs > 0 ? waitMs : this.take(group)));
    const granted = this.#reservations.takeEntries(group);
    if (!(granted instanceof Promise)) return this.#add(group, bundle, granted);
    bundle.asked = granted.then((found) => {
      bundle.asked = undefined;
      return this.#add(group, bundle, found);
    });
    return bundle.asked;
  }

  /** Gives back an entry that was not written. */
  giveBack(group: string): void {
    const bundle = this.#bundles.get(group) ?? this.#open(group);
    if (bundle.left + 1 < this.#bundleSize) {
      bundle.left++;
      return;
    }
    bundle.came--;
    this.#reservations.giveBackEntries(group, 1);
  }

  /** The addresses that used up a hundredth of their budget or more in this process, and how many entries came since `told`. */
  grown(): { readonly group: string; readonly entries: number }[] {
    return [...this.#notable]
      .map((group) => ({ group, entries: this.#since(group) }))
      .filter(({ entries }) => entries > 0)
      .toSorted((one, other) => other.entries - one.entries);
  }

  /** Notes that entries reported by `grown` were written to Redis. */
  told(group: string, entries: number): void {
    const bundle = this.#bundles.peek(group);
    if (bundle !== undefined) bundle.told += entries;
  }

  #since(group: string): number {
    const bundle = this.#bundles.peek(group);
    return bundle === undefined ? 0 : bundle.came - bundle.left - bundle.told;
  }

  /** The cache drops 50,000 addresses at once. Giving back all their unused entries in one go stopped the event loop for 150 ms. */
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

/** Most addresses write a few entries a day, which is not worth reporting. */
const NOTABLE_PART = 0.01;

/**
 * Dropped bundles that each taken entry gives back. A taken entry and its return add two addresses to the cache at most, so all dropped
 * bundles are given back before the cache drops the next ones.
 */
const FORGOTTEN_AT_ONCE = 4;

/** About 10 MB. */
const MOST_ADDRESSES = 100_000;
