import { z } from 'zod';
import type { Holding } from '../../accounts/holdings.ts';
import { standingKey } from '../../accounts/account-keys.ts';
import { setAside } from '../../consistency/set-aside-keys.ts';
import { standingChanges, standingLibrary } from '../../accounts/standing.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { guestAuditor } from './guest-auditor.ts';
import { historyPage } from './history.ts';
import {
  BalanceCoins,
  coinKeys,
  DAY_MS,
  dayOf,
  DebtCoins,
  eraseLibrary,
  LedgerCursor,
  ledgerLibrary,
  shownBalance,
  SignedBalance,
} from './model.ts';
import { balanceAt, ledgerEnds, operatorHistory, OperatorLedgerEntry } from './operator-history.ts';

const eraseScript = defineScript({
  file: new URL('erase-ledger.lua', import.meta.url),
  keys: ['ledger', 'standing'],
  args: ['state', 'from'],
  answers: ['erased', 'kept'],
  library: [standingLibrary, standingChanges, ledgerLibrary, eraseLibrary],
  durable: true,
});

/** Ledger entries on a page of the export: about 60 KB, which take Redis 1 ms. */
const ENTRIES_A_PAGE = 500;

/**
 * Entries on a page of an account with many guests. Such a page has fewer entries, because each entry of a guest costs a read of the
 * guest's ledger.
 */
const ENTRIES_WITH_GUESTS = 100;

/** An account with more guests than this counts as an account with many guests. */
const MANY_GUESTS = 10;

/**
 * An export's page is bounded by a number of reads, in which this many ledger entries cost as much as one read. A page has one page of
 * entries at most.
 */
const ENTRIES_A_READ = 10;

/** The number of newest entries that an operator sees with the account. */
const NEWEST = 10;

const ExportedEntry = z
  .object({
    id: z.string(),
    type: z.string(),
    coins: z.number().int(),
    balanceAfterCoins: SignedBalance,
    key: z.string(),
    at: z.iso.datetime(),
  })
  .meta({
    id: 'ExportedEntry',
    description: 'As in `GET /v1/coins/history`.',
    example: { id: '17', type: 'debit', coins: -30, balanceAfterCoins: 110, key: 'hat', at: '2026-11-22T12:00:00.000Z' },
  });

/** A bucket of the index of a ledger. */
const bucket = { type: 'hash', life: 'lasts', counted: 'buckets', whenDeleted: 'erased' } as const;

/**
 * The coins of an account: the ledger and its index, the ledgers and idempotency keys of the guests that moved in, and the counters of
 * coins credited on a day. The steps of a move copy a guest's ledger into the account, so `handOver` only has to delete the guest's own
 * ledger.
 */
export const coinHolding = {
  name: 'coins',
  keys: [
    { name: 'ledger', type: 'list', life: 'lasts', counted: 'ledgers', whenMoved: 'handed_over', whenDeleted: 'erased' },
    // Every index has a bucket 0, so the key of bucket 0 shows whether the account has an index.
    { ...bucket, name: /index:(.*)/, namesAt: () => ['index:0'], whenMoved: 'handed_over' },
    { ...bucket, name: /guest:([^}:]+):index:(.*)/, whenMoved: 'handed_over' },
    { name: /guest:([^}:]+):ledger/, type: 'list', life: 'lasts', counted: 'ledgers', whenMoved: 'handed_over', whenDeleted: 'erased' },
    { name: 'keys:guests', type: 'hash', life: 'lasts', whenMoved: 'goes', whenDeleted: 'goes' },
    { name: 'ledger:guests', type: 'zset', life: 'lasts', whenMoved: 'goes', whenDeleted: 'goes' },
    { name: 'ledger:guests:ids', type: 'hash', life: 'lasts', whenMoved: 'goes', whenDeleted: 'goes' },
    {
      name: /credited:(\d{4}-\d\d-\d\d)/,
      type: 'string',
      life: 'ends',
      texts: { what: 'counter of credits', isRight: (text) => /^\d+$/.test(text), kind: 'wrong_counter', mend: setAside },
      // Around midnight a counter of the day before or after may exist too, because Redis's clock may be set back, or may differ after a
      // failover.
      namesAt: (now) => [-DAY_MS, 0, DAY_MS].map((offset) => `credited:${dayOf(now + offset)}`),
      whenMoved: 'goes',
      whenDeleted: 'goes',
    },
  ],
  async handOver({ guestId }, { scripts }) {
    await eraseLedger(coinKeys.ledger(guestId), guestId, 'moved', scripts);
    return false;
  },
  async dropGuests({ accountId, guests }, { scripts }) {
    for (const guest of guests) await eraseLedger(coinKeys.guestLedger(accountId, guest), accountId, 'moving', scripts);
  },
  async erase({ accountId, guests }, { scripts }) {
    for (const ledger of [...guests.map((guest) => coinKeys.guestLedger(accountId, guest)), coinKeys.ledger(accountId)])
      await eraseLedger(ledger, accountId, 'deleted', scripts);
  },
  exported: {
    shape: {
      balanceCoins: BalanceCoins.optional(),
      debtCoins: DebtCoins,
      entries: z.array(ExportedEntry).optional().meta({ description: 'Entries of the ledger, newest first.' }),
    },
    async firstPage({ accountId }, { scripts }) {
      return shownBalance((await ledgerEnds(accountId, scripts)).balance);
    },
    pages: {
      letter: 'e',
      firstPlace: '',
      isPlace: (text) => text === '' || LedgerCursor.safeParse(text).success,
      async read({ caller, owners }, cursor, { scripts }) {
        const limit = owners.length > MANY_GUESTS + 1 ? ENTRIES_WITH_GUESTS : ENTRIES_A_PAGE;
        const { entries, nextCursor } = await historyPage(caller, { cursor, limit }, scripts);
        return { lists: { entries }, next: nextCursor, reads: nextCursor === undefined ? entries.length / ENTRIES_A_READ : Infinity };
      },
    },
  },
  shown: {
    shape: {
      balanceCoins: BalanceCoins,
      debtCoins: DebtCoins,
      balanceAt: z
        .object({ at: z.iso.datetime(), balanceCoins: BalanceCoins.optional(), debtCoins: DebtCoins })
        .optional()
        .meta({ description: 'Without `balanceCoins`: retention has deleted the entries of that time.' }),
      ledger: z.object({ entries: z.number().int(), oldestAt: z.iso.datetime().optional() }),
      history: z.array(OperatorLedgerEntry),
    },
    async show({ accountId, at }, { scripts }, parts) {
      const [ends, page, before] = await Promise.all([
        parts.read('ledger', () => ledgerEnds(accountId, scripts)),
        parts.read('ledger', () => operatorHistory(accountId, '', NEWEST, scripts, parts)),
        at === undefined ? undefined : parts.read('ledger', () => balanceAt(accountId, at, scripts)),
      ]);
      return {
        ...(ends === undefined ? {} : { ...shownBalance(ends.balance), ledger: { entries: ends.entries, oldestAt: ends.oldestAt } }),
        balanceAt: before,
        history: page?.entries,
      };
    },
  },
  auditors: () => [guestAuditor],
} satisfies Holding;

/**
 * Deletes a ledger and its index in several calls. @param state the state that the account must have; in another state nothing is deleted
 */
async function eraseLedger(ledger: string, accountId: string, state: 'moved' | 'moving' | 'deleted', scripts: ScriptRunner): Promise<void> {
  const keys = { ledger, standing: standingKey(accountId) };
  for (let from = '0'; from !== '';) {
    const [word, next] = await scripts.run(eraseScript, keys, { state, from });
    from = word === 'erased' ? next! : '';
  }
}
