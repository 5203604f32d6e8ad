import type { LedgerEntry } from '../../src/features/coins/ledger-layout.ts';
import { coinKeys, entryLetters } from '../../src/features/coins/model.ts';
import { purchaseIdOf } from '../../src/features/purchases/model.ts';
import { sandboxRedisKeys } from '../../src/stores/sandbox/model.ts';
import type { IssuedPurchase } from '../../src/stores/sandbox/purchase-record.ts';
import { inParallel, sum } from './client.ts';
import { ledgerOf } from './coin-book.ts';
import type { Place } from './place.ts';

/** The coins of one unit. */
export const UNIT_COINS = 100;

/** A purchase in the books of the store. */
export interface Sold {
  readonly token: string;
  readonly issued: IssuedPurchase;
  readonly isConsumed: boolean;
}

const AT_ONCE = 256;

/**
 * The books of the sandbox, in the service's Redis. In the service, only the sandbox reads and writes them.
 * @param tokens of the wanted purchases. Default: all purchases
 */
export async function readBooks(place: Place, tokens?: Iterable<string>): Promise<Map<string, Sold>> {
  const books = new Map<string, Sold>();
  const read = async (token: string): Promise<void> => {
    const words = (await place.command('HMGET', sandboxRedisKeys.purchase(token), 'issued', 'consumedAt')) as (string | null)[];
    const [json, consumedAt] = words;
    if (typeof json === 'string') books.set(token, { token, issued: JSON.parse(json) as IssuedPurchase, isConsumed: consumedAt !== null });
  };
  await inParallel(tokens ?? (await soldTokens(place)), read, AT_ONCE);
  return books;
}

async function soldTokens(place: Place): Promise<string[]> {
  const [before, behind] = sandboxRedisKeys.purchase('*').split('*') as [string, string];
  return (await place.keys(sandboxRedisKeys.purchase('*'))).map((key) => key.slice(before.length, key.length - behind.length));
}

/** The coins that the buyer keeps. */
export function keptCoins({ state, quantity, refundedQuantity }: IssuedPurchase): number {
  return state === 'purchased' ? UNIT_COINS * (quantity - refundedQuantity) : 0;
}

export const coinsOf = (entries: readonly LedgerEntry[]): number => sum(entries.map(({ coins }) => coins));

/** The purchase entries of an account, by `purchaseIdOf`. */
export async function entriesOf(accountId: string, place: Place): Promise<Map<string, LedgerEntry[]>> {
  const entries = await ledgerOf(coinKeys.ledger(accountId), (...words) => place.command(...words));
  const ofPurchases = entries.filter(({ letter }) => letter === entryLetters.topup || letter === entryLetters.refund);
  return Map.groupBy(ofPurchases, ({ key }) => key.split('·')[2]!);
}

/** The differences between ledgers and books. */
export interface PurchaseDifferences {
  readonly found: Record<string, number>;
  /** Accounts with any difference. */
  readonly accounts: readonly string[];
  /** Coins in the ledgers: granted, and taken back. */
  readonly granted: number;
  readonly refunded: number;
}

/** @param owned the purchases of each account */
export async function comparePurchases(owned: ReadonlyMap<string, readonly Sold[]>, place: Place): Promise<PurchaseDifferences> {
  const found = {
    'purchases booked less than they came to': 0,
    'purchases booked more than they came to': 0,
    'purchases that were booked although nobody paid': 0,
    'entries of purchases of others': 0,
    'accounts with another sum than the store’s books': 0,
    'purchases left unconsumed': 0,
  };
  const accounts: string[] = [];
  let [granted, refunded] = [0, 0];
  const compare = async ([accountId, purchases]: [string, readonly Sold[]]): Promise<void> => {
    const entries = await entriesOf(accountId, place);
    const all = [...entries.values()].flat();
    granted += coinsOf(all.filter(({ letter }) => letter === entryLetters.topup));
    refunded -= coinsOf(all.filter(({ letter }) => letter === entryLetters.refund));
    const before = sum(Object.values(found));
    for (const { token, issued, isConsumed } of purchases) {
      const own = entries.get(purchaseIdOf('google', token)) ?? [];
      entries.delete(purchaseIdOf('google', token));
      const [coins, due, isBooked] = [coinsOf(own), keptCoins(issued), own.length > 0];
      const isRepeated = new Set(own.map(({ key }) => key)).size < own.length;
      found['purchases booked less than they came to'] += Number(coins < due);
      found['purchases booked more than they came to'] += Number(coins > due || isRepeated);
      found['purchases that were booked although nobody paid'] += Number(isBooked && issued.completedAt === undefined);
      found['purchases left unconsumed'] += Number(isBooked && issued.state === 'purchased' && !isConsumed);
    }
    found['entries of purchases of others'] += [...entries.values()].flat().length;
    const kept = sum(purchases.map(({ issued }) => keptCoins(issued)));
    found['accounts with another sum than the store’s books'] += Number(coinsOf(all) !== kept);
    if (sum(Object.values(found)) > before) accounts.push(accountId);
  };
  await inParallel(owned, compare, AT_ONCE);
  return { found, accounts, granted, refunded };
}
