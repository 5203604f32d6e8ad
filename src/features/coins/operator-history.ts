import { z } from 'zod';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { isoTime } from '../../accounts/merge-rules.ts';
import { read } from '../../redis/reads.ts';
import { Parts } from '../../redis/unreadable.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { uncheckedOperatorFor } from '../../server/identity/caller.ts';
import { historyScript, parseEntryForOperators } from './history.ts';
import { coinKeys, ENTRY_TYPES, type EntryType, ledgerEntry, shownBalance, SignedBalance } from './model.ts';

const balanceAtScript = defineScript({
  file: new URL('balance-at.lua', import.meta.url),
  keys: ['ledger'],
  args: ['at'],
  answers: ['entry', 'before', 'none'],
  formats: [ledgerEntry],
  readOnly: true,
});

/** A ledger entry as operators see it: with the origin. */
export const OperatorLedgerEntry = z
  .object({
    id: z.string(),
    type: z.enum(ENTRY_TYPES),
    coins: z.number().int(),
    balanceAfterCoins: SignedBalance,
    key: z.string(),
    at: z.iso.datetime(),
    by: z.string().optional().meta({ description: 'The server key (`key:<id>`) or the operator that made the entry. Left out: a client.' }),
    reason: z.string().optional().meta({ description: 'Of an `adjust`.' }),
  })
  .meta({
    id: 'OperatorLedgerEntry',
    example: {
      id: '18',
      type: 'adjust',
      coins: 50,
      balanceAfterCoins: 160,
      key: 'ticket-4711',
      at: '2026-11-22T12:00:00.000Z',
      by: 'ada@ops-1',
      reason: 'lost in the outage of 3 May',
    },
  });

/**
 * A page of an account's ledger, newest entry first, also for a banned, moved or deleted account.
 * @param cursor '' for the first page
 * @param parts notes the entries that cannot be read, which are left out
 */
export async function operatorHistory(accountId: string, cursor: string, limit: number, scripts: CallerScripts, parts = new Parts()) {
  const keys = { ledger: coinKeys.ledger(accountId) };
  const [, nextCursor = '', ...lines] = await scripts.runAs(uncheckedOperatorFor(accountId), historyScript, keys, { cursor, limit });
  const entries = await parts.readEach(lines, (line) => `entry ${line.slice(0, MOST_NAMED)}`, parseEntryForOperators);
  return { entries, ...(nextCursor === '' ? {} : { nextCursor }) };
}

/** The most characters of an entry that cannot be read, in its name. */
const MOST_NAMED = 80;

/** The filter of a search in a ledger. Times are milliseconds since 1970. */
export interface LedgerFilter {
  readonly type?: EntryType | undefined;
  readonly key?: string | undefined;
  /**
   * The coins of an entry. A number with a sign matches the entry's coins exactly. A number without a sign matches coins that were added or
   * removed.
   */
  readonly coins?: string | undefined;
  /** The `by` of an entry, or `client` for entries that no server key and no operator made. */
  readonly origin?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** The number of entries that a search reads with one script, which takes Redis 1 ms. */
const SEARCHED_AT_ONCE = 500;

/** The most entries that a search reads for one page. */
const MOST_SEARCHED = 2000;

/** A page of entries that match a filter, newest first. The page may be short, or empty, although further pages follow. */
export async function searchLedger(
  accountId: string,
  filter: LedgerFilter,
  cursor: string,
  limit: number,
  scripts: CallerScripts,
  parts?: Parts,
) {
  const found: z.output<typeof OperatorLedgerEntry>[] = [];
  let at = cursor === '' && filter.to !== undefined ? await cursorBefore(accountId, filter.to, scripts) : cursor;
  for (let searched = 0; searched < MOST_SEARCHED; searched += SEARCHED_AT_ONCE) {
    const page = await operatorHistory(accountId, at, SEARCHED_AT_ONCE, scripts, parts);
    for (const [index, entry] of page.entries.entries()) {
      if (filter.from !== undefined && Date.parse(entry.at) < filter.from) return { entries: found };
      if (!fits(entry, filter)) continue;
      found.push(entry);
      if (found.length < limit) continue;
      const isLast = index === page.entries.length - 1;
      const { nextCursor } = isLast ? page : await operatorHistory(accountId, at, index + 1, scripts);
      return { entries: found, ...(nextCursor === undefined ? {} : { nextCursor }) };
    }
    if (page.nextCursor === undefined) return { entries: found };
    at = page.nextCursor;
  }
  return { entries: found, nextCursor: at };
}

/** Each process writes the ledger by its own clock, so the times of entries may be out of order by this much. */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * Finds the cursor at which a search for entries before a time begins, with a binary search. Otherwise, in the ledger of a busy account,
 * the search would read many pages to get to yesterday. '' for an account with guests, because the cursor then has a place for each guest's
 * ledger too.
 */
async function cursorBefore(accountId: string, time: number, scripts: CallerScripts): Promise<string> {
  const { nextCursor = '' } = await operatorHistory(accountId, '', 1, scripts);
  if (!/^\d+$/.test(nextCursor)) return '';
  const keys = { ledger: coinKeys.ledger(accountId) };
  const [word, entry = ''] = await scripts.run(balanceAtScript, keys, { at: time + CLOCKS_DIFFER_MS });
  return word === 'entry' ? String(Number(/^\d+/.exec(entry)![0]) + 1) : '';
}

function fits(entry: z.output<typeof OperatorLedgerEntry>, { type, key, coins, origin, to }: LedgerFilter): boolean {
  if (coins !== undefined && Number(coins) !== (/^\d/.test(coins) ? Math.abs(entry.coins) : entry.coins)) return false;
  if (type !== undefined && entry.type !== type) return false;
  if (key !== undefined && entry.key !== key) return false;
  if (to !== undefined && Date.parse(entry.at) >= to) return false;
  if (origin === undefined) return true;
  return origin === 'client' ? entry.by === undefined : entry.by === origin || entry.by?.split(' as ').includes(origin) === true;
}

/** The idempotency keys of operators' grants among the newest 2,000 entries of an account's ledger. */
export async function operatorGrantKeys(accountId: string, scripts: CallerScripts, parts?: Parts): Promise<ReadonlySet<string>> {
  const { entries } = await searchLedger(accountId, { type: 'grant' }, '', MOST_SEARCHED, scripts, parts);
  return new Set(entries.flatMap(({ key, reason }) => (reason === undefined ? [] : [key])));
}

/**
 * The balance of an account at a time, from the account's own ledger. Coins of a guest that moved in after that time are not included,
 * because the guest still had them at that time. The reply has no `balanceCoins` if retention has deleted the entries of that time.
 */
export async function balanceAt(accountId: string, at: number, scripts: CallerScripts) {
  const time = new Date(at).toISOString();
  const [word, entry = ''] = await scripts.run(balanceAtScript, { ledger: coinKeys.ledger(accountId) }, { at });
  if (word === 'none') return { at: time, balanceCoins: 0 };
  if (word === 'entry') return { at: time, ...shownBalance(balanceAfter(entry)) };
  // If the oldest entry is not the first one, retention has deleted earlier entries.
  return entry.startsWith('1:') ? { at: time, balanceCoins: 0 } : { at: time };
}

/**
 * Facts of an account's ledger, also for a banned, moved or deleted account: the balance (below 0 for a debt), the number of entries that
 * the ledger still has, and the time of the oldest entry.
 */
export async function ledgerEnds(accountId: string, scripts: ScriptRunner) {
  const ledger = coinKeys.ledger(accountId);
  const [[newest = ''], [oldest = ''], [entries]] = await Promise.all([
    read(scripts, 'LINDEX', ledger, -1),
    read(scripts, 'LINDEX', ledger, 0),
    read(scripts, 'LLEN', ledger),
  ]);
  const oldestAt = isoTime(ledgerEntry.parse(oldest)?.at);
  return { balance: balanceAfter(newest), entries: Number(entries), oldestAt };
}

/** The balance after a ledger entry, in coins. 0 for '', which stands for no entry. @throws Error for a damaged entry */
function balanceAfter(entry: string): number {
  if (entry === '') return 0;
  const [, balance] = /^\d+:(-?\d+) /.exec(entry) ?? [];
  if (balance === undefined) throw new Error('the last entry of a ledger is damaged');
  return Number(balance);
}
