import { parseEntry, type LedgerEntry } from '../../src/features/coins/ledger-layout.ts';
import { coinKeys, entryLetters } from '../../src/features/coins/model.ts';
import { purchaseIdOf } from '../../src/features/purchases/model.ts';
import { sandboxRedisKeys } from '../../src/stores/sandbox/model.ts';
import type { IssuedPurchase } from '../../src/stores/sandbox/purchase-record.ts';
import type { Dying } from './dying.ts';
import { UNIT_COINS } from './purchase-load.ts';

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
export async function readBooks(running: Dying, tokens?: readonly string[]): Promise<Map<string, Sold>> {
  const books = new Map<string, Sold>();
  await inParallel(tokens ?? (await soldTokens(running)), async (token) => {
    const words = (await running.command('HMGET', sandboxRedisKeys.purchase(token), 'issued', 'consumedAt')) as (string | null)[];
    const [json, consumedAt] = words;
    if (typeof json === 'string') books.set(token, { token, issued: JSON.parse(json) as IssuedPurchase, isConsumed: consumedAt !== null });
  });
  return books;
}

async function soldTokens(running: Dying): Promise<string[]> {
  const [before, behind] = sandboxRedisKeys.purchase('*').split('*') as [string, string];
  const keys = await running.keys(sandboxRedisKeys.purchase('*'));
  return keys.map((key) => key.slice(before.length, key.length - behind.length));
}

/** The coins that the buyer keeps. */
export function keptCoins({ state, quantity, refundedQuantity }: IssuedPurchase): number {
  return state === 'purchased' ? UNIT_COINS * (quantity - refundedQuantity) : 0;
}

/** The purchase entries of an account, by `purchaseIdOf`. */
export async function entriesOf(accountId: string, running: Dying): Promise<Map<string, LedgerEntry[]>> {
  const texts = (await running.command('LRANGE', coinKeys.ledger(accountId), 0, -1)) as string[];
  const entries = texts
    .map((text) => parseEntry(text)!)
    .filter(({ letter }) => letter === entryLetters.topup || letter === entryLetters.refund);
  return Map.groupBy(entries, ({ key }) => key.split('·')[2]!);
}

/** Faults of one purchase. */
const FAULTS = ['lost', 'doubled', 'unpaid', 'unconsumed'] as const;

/** Differences between ledgers and books. */
export interface Differences {
  /** Purchases with fewer or more coins in a ledger than in the books. */
  readonly lost: number;
  readonly doubled: number;
  /** Purchases with entries although nobody has ever paid. */
  readonly unpaid: number;
  /** Entries of purchases that the account does not own. */
  readonly strange: number;
  readonly wrongAccounts: number;
  /** Accounts with any of these differences. */
  readonly accounts: readonly string[];
  /** Purchases that were granted but not acknowledged to the store. */
  readonly unconsumed: number;
  readonly grantedCoins: number;
  readonly refundedCoins: number;
  readonly keptCoins: number;
}

/** @param owned the purchases of each account */
export async function compare(owned: ReadonlyMap<string, readonly Sold[]>, running: Dying): Promise<Differences> {
  const found = {
    lost: 0,
    doubled: 0,
    unpaid: 0,
    strange: 0,
    wrongAccounts: 0,
    unconsumed: 0,
    grantedCoins: 0,
    refundedCoins: 0,
    keptCoins: 0,
  };
  const accounts: string[] = [];
  await inParallel([...owned], async ([accountId, purchases]) => {
    const entries = await entriesOf(accountId, running);
    let [booked, kept, isWrong] = [0, 0, false];
    for (const { letter, coins } of [...entries.values()].flat()) {
      booked += coins;
      if (letter === entryLetters.topup) found.grantedCoins += coins;
      else found.refundedCoins -= coins;
    }
    for (const { token, issued, isConsumed } of purchases) {
      const purchaseId = purchaseIdOf('google', token);
      const own = entries.get(purchaseId) ?? [];
      entries.delete(purchaseId);
      const [coins, due] = [own.reduce((sum, entry) => sum + entry.coins, 0), keptCoins(issued)];
      kept += due;
      const faults = {
        lost: coins < due,
        doubled: coins > due || new Set(own.map(({ key }) => key)).size < own.length,
        unpaid: own.length > 0 && issued.completedAt === undefined,
        unconsumed: own.length > 0 && issued.state === 'purchased' && !isConsumed,
      };
      for (const fault of FAULTS) found[fault] += Number(faults[fault]);
      isWrong ||= FAULTS.some((fault) => faults[fault]);
    }
    found.keptCoins += kept;
    found.strange += [...entries.values()].flat().length;
    if (booked !== kept) found.wrongAccounts++;
    if (isWrong || booked !== kept || entries.size > 0) accounts.push(accountId);
  });
  return { ...found, accounts };
}

export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>, atOnce = AT_ONCE): Promise<void> {
  const rest = items.values();
  const one = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}
