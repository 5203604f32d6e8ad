import { z } from 'zod';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { refusesNobody } from '../../accounts/prologues.ts';
import { standingLibrary } from '../../accounts/standing.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { operatorFor } from '../../server/identity/caller.ts';
import { parseEntryForOperators } from './history.ts';
import { coinKeys, ENTRY_TYPES, ledgerLibrary, shownBalance, SignedBalance } from './model.ts';

const historyScript = defineScript({
  file: new URL('history.lua', import.meta.url),
  keys: ['ledger'],
  args: ['cursor', 'limit'],
  answers: ['page'],
  prologue: refusesNobody,
  library: [standingLibrary, ledgerLibrary],
  readOnly: true,
});

const balanceAtScript = defineScript({
  file: new URL('balance-at.lua', import.meta.url),
  keys: ['ledger'],
  args: ['at'],
  answers: ['entry', 'before', 'none'],
  readOnly: true,
});

const readEnds = defineScript({
  file: new URL('read-ends.lua', import.meta.url),
  keys: ['ledger'],
  args: [],
  answers: ['ends'],
  readOnly: true,
});

/** An entry of a ledger, as operators see it. */
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

/** A page of an account's ledger, newest entry first, whether or not the account may act. @param cursor '' at first */
export async function operatorHistory(accountId: string, cursor: string, limit: number, scripts: CallerScripts) {
  const keys = { ledger: coinKeys.ledger(accountId) };
  const [, nextCursor = '', ...lines] = await scripts.runAs(operatorFor(accountId), historyScript, keys, { cursor, limit });
  return { entries: lines.map(parseEntryForOperators), ...(nextCursor === '' ? {} : { nextCursor }) };
}

/**
 * The balance at a time, by the account's own ledger: the coins of a guest that moved in later were in the guest's account then.
 * Without `balanceCoins`, retention has deleted the entries of that time.
 */
export async function balanceAt(accountId: string, at: number, scripts: CallerScripts) {
  const time = new Date(at).toISOString();
  const [word, entry = ''] = await scripts.run(balanceAtScript, { ledger: coinKeys.ledger(accountId) }, { at });
  if (word === 'none') return { at: time, balanceCoins: 0 };
  if (word === 'entry') return { at: time, ...shownBalance(balanceAfter(entry)) };
  // Before any other entry than the first of all there may have been more, which retention has deleted.
  return entry.startsWith('1:') ? { at: time, balanceCoins: 0 } : { at: time };
}

/**
 * The balance of an account, below 0 for a debt, the entries that its ledger still has, and the time of the oldest one, whether or not the
 * account may act.
 */
export async function ledgerEnds(accountId: string, scripts: ScriptRunner) {
  const [, newest = '', oldest = '', entries] = await scripts.run(readEnds, { ledger: coinKeys.ledger(accountId) }, {});
  const oldestAt = oldest === '' ? undefined : parseEntryForOperators(oldest).at;
  return { balance: balanceAfter(newest), entries: Number(entries), oldestAt };
}

/** The balance that a ledger entry left, 0 for ''. */
function balanceAfter(entry: string): number {
  return Number(/^\d+:(-?\d+)/.exec(entry)?.[1] ?? 0);
}
