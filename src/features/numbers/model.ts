import { COUNTERS, COUNTED_DAYS, COUNTERS_TAG, COUNTED_DAY_MS } from '../../redis/counters.ts';
import { dayOf, ENTRY_TYPES, entryLetters, type EntryType } from '../coins/model.ts';

/**
 * The numbers of a UTC day: what happened to coins, accounts and rooms. Scripts count most of them (`redis/counters.ts`), exactly:
 *
 * - `+c` and `-d`: the coins that entries of a type added or took, by the letter of the type (`ledger.lua`).
 * - `x+c` and `x-d`: those of these coins whose entries were deleted since, with their account or by LEDGER_RETENTION_DAYS.
 * - `bought:google:coins-500`, `refunded:…`, `sold:…`: the coins of a product that purchases granted and refunds took (less than 0 if
 *   refunds were reversed), and the number of purchases (`book.lua`).
 * - `new`, `deleted`, `moved`: accounts. `rooms`: rooms opened. `matches`: rooms whose game began. `prizes`: prizes paid.
 *
 * Processes write down which accounts act, and refusals (`activity.ts`).
 */
export const numberKeys = {
  /** @param tag the hash tag of a place */
  counters: (tag: string, day: number) => `${tag}${COUNTERS}${day}`,
  countedDays: (tag: string) => `${tag}${COUNTED_DAYS}`,
  /** A HyperLogLog of the ids of accounts that acted on the day. */
  active: (day: number) => `${COUNTERS_TAG}active:${day}`,
  /** A hash: the number of a day → about how many accounts acted on it. */
  activeCounts: `${COUNTERS_TAG}active`,
  /** A hash: an error code → how many requests were refused with it in the hour. */
  refusals: (hour: number) => `${COUNTERS_TAG}refusals:${hour}`,
};

export const HOUR_MS = 3_600_000;

/** A UTC day by its number, as text: `2026-11-22`. */
export const dayText = (day: number): string => dayOf(day * COUNTED_DAY_MS);

/** The counters of a day, by their names. */
export type Counters = ReadonlyMap<string, number>;

export interface ProductNumbers {
  readonly store: string;
  readonly productId: string;
  /** Purchases granted. */
  readonly sold: number;
  readonly boughtCoins: number;
  /** Coins that refunds took. Below 0 if more was given back by reversed refunds. */
  readonly refundedCoins: number;
}

/** Coins by the type of the ledger entry. Types without coins are left out. */
export type CoinsByType = Partial<Record<EntryType, number>>;

/** @param sign of the entries' coins */
export function coinsByType(counters: Counters, sign: '+' | '-'): CoinsByType {
  const coins: CoinsByType = {};
  for (const type of ENTRY_TYPES) {
    const sum = counters.get(sign + entryLetters[type]) ?? 0;
    if (sum !== 0) coins[type] = sum;
  }
  return coins;
}

const OF_PRODUCT = /^(bought|refunded|sold):([^:]+):(.+)$/;

/** The numbers of each product, by store and product. */
export function productsOf(counters: Counters): ProductNumbers[] {
  const products = new Map<string, { store: string; productId: string; bought: number; refunded: number; sold: number }>();
  for (const [name, number] of counters) {
    const [, what, store = '', productId = ''] = OF_PRODUCT.exec(name) ?? [];
    if (what === undefined) continue;
    const known = products.get(`${store}:${productId}`) ?? { store, productId, bought: 0, refunded: 0, sold: 0 };
    known[what as 'bought' | 'refunded' | 'sold'] = number;
    products.set(`${store}:${productId}`, known);
  }
  return [...products.values()]
    .map(({ store, productId, bought, refunded, sold }) => ({ store, productId, sold, boughtCoins: bought, refundedCoins: refunded }))
    .toSorted((one, other) => one.store.localeCompare(other.store) || one.productId.localeCompare(other.productId));
}
