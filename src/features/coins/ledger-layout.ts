import { accountKeyPattern } from '../../accounts/account-keys.ts';
import type { Probe } from '../../consistency/auditor.ts';
import { coinKeys, ENTRIES_PER_BUCKET, filedEntry, filedOperation, ledgerEntry, type LedgerEntry } from './model.ts';

/**
 * The layout of ledgers in Redis, for the audit. `ledger.lua` writes ledgers and describes the layout. Apart from scripts, only this file
 * and `ledger-check.ts`, `chain-check.ts` and `index-check.ts` know the layout.
 */

/** The number of buckets in the index of a ledger whose last entry has this seq. */
export function bucketCount(lastSeq: number): number {
  return Math.floor(lastSeq / ENTRIES_PER_BUCKET) + 1;
}

/** The bucket of a hash in the index of a ledger whose last entry has this seq. */
export function bucketOf(hash: number, lastSeq: number): number {
  const count = bucketCount(lastSeq);
  const power = 2 ** Math.floor(Math.log2(count));
  // The remainder as in Lua, which is never negative.
  const bucket = (hash >>> 0) % (power * 2);
  return bucket < count ? bucket : bucket % power;
}

/**
 * A move of a guest's coins makes two entries, one in the guest's ledger and one in the account's. The idempotency key of each entry begins
 * with this prefix. The key in the guest's ledger ends with the account's id, and the key in the account's ledger ends with the guest's id.
 */
export const MERGE_KEY = 'merge:';

/**
 * How an entry of a guest's small ledger is stored with the account (`file_guest` of ledger.lua): its member in the sorted set of filed
 * entries, and its line in the hash of idempotency keys. The line is empty for an entry of a move, because such an entry is not found by
 * its key.
 */
export function filed(
  { seq, balance, letter, coins }: LedgerEntry,
  guestNumber: number,
): { member: string; operation: string; line: string } {
  const member = filedEntry.write({ turn: 999 - guestNumber, seq });
  return { member, operation: `${letter}${coins} `, line: letter === 'm' ? '' : filedOperation.write({ letter, coins, balance }) };
}

/** The Redis key of a bucket of a ledger's index, as `of_account` of ledger.lua makes it. */
export function bucketName(ledger: string, bucket: number | string): string {
  return `${ledger.slice(0, -'ledger'.length)}index:${bucket}`;
}

export const ledgerKeys = {
  bucket: (accountId: string, bucket: number | string) => bucketName(coinKeys.ledger(accountId), bucket),
  /** A hash of guests with small ledgers: an idempotency key → lines of the operations under this key (`filedOperation`). */
  filedKeys: coinKeys.guestKeys,
  /** A sorted set: the entries of guests with small ledgers by time (`filedEntry`). */
  filedEntries: (accountId: string) => `{${accountId}}:ledger:guests`,
  /** A hash: the number of a guest with a small ledger → the guest (`filedGuest`). */
  filedGuests: (accountId: string) => `{${accountId}}:ledger:guests:ids`,
};

/** The Redis keys of an account's ledgers and their indexes. The first group is the account's id. */
export const ledgerPatterns = {
  ledger: accountKeyPattern('ledger'),
  bucket: accountKeyPattern(/index:(.*)/),
  /** The second group is the id of a guest that moved into the account. */
  ofGuest: accountKeyPattern(/guest:([^}:]+):ledger/),
  bucketOfGuest: accountKeyPattern(/guest:([^}:]+):index:(.*)/),
  filed: ['keys:guests', 'ledger:guests', 'ledger:guests:ids'].map(accountKeyPattern),
};

/** Entries on a page. One command reads a page, which takes Redis about 20 µs. */
const PAGE = 128;

/**
 * The next page begins by reading this number of the last entries of a page again. So the audit misses no entry, even if retention deletes
 * as many entries between the reads of two pages.
 */
const OVERLAP = 8;

export interface EntryPage {
  /** The entries that follow the entries of the previous page. Neighbours on a page are neighbours in Redis. */
  readonly texts: readonly string[];
  /** Whether this is the first page, or the first page after retention deleted all entries of earlier pages. */
  readonly isBegin: boolean;
}

/** Reads a ledger in pages, oldest entry first. If the ledger does not exist, it yields no page. */
export async function* entryPages(probe: Probe, ledger: string): AsyncGenerator<EntryPage, undefined> {
  let page = (await probe.ask('LRANGE', ledger, 0, PAGE - 1)) as string[];
  if (page.length === 0) return;
  yield { texts: page, isBegin: true };
  let [position, overlap, isLast] = [PAGE - 1, OVERLAP, page.length < PAGE];
  while (!isLast) {
    const last = page.at(-1)!;
    const start = Math.max(0, position - overlap);
    const next = (await probe.ask('LRANGE', ledger, start, start + overlap + PAGE - 1)) as string[];
    const met = next.lastIndexOf(last);
    if (met === -1 && start > 0) {
      overlap *= 8;
      continue;
    }
    const texts = next.slice(met + 1);
    if (texts.length > 0) yield { texts, isBegin: met === -1 };
    if (next.length > 0) page = next;
    position = start + next.length - 1;
    isLast = texts.length === 0 || next.length < overlap + PAGE;
    overlap = OVERLAP;
  }
}

/** The newest entries of a ledger, oldest first. */
export async function newestEntries(probe: Probe, ledger: string, count: number): Promise<LedgerEntry[]> {
  const texts = (await probe.ask('LRANGE', ledger, -count, -1)) as string[];
  return texts.flatMap((text) => ledgerEntry.parse(text) ?? []);
}
