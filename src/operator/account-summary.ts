import { z } from 'zod';
import { accountKey, standingKey } from '../accounts/account-keys.ts';
import { isoTime, timeOf } from '../accounts/merge-rules.ts';
import { AccountId } from '../accounts/ids.ts';
import { parseSession, sessionsKey } from '../accounts/session-list.ts';
import { banAt, parseStanding, standingChanges } from '../accounts/standing.ts';
import { parseEntry } from '../features/coins/history.ts';
import { BalanceCoins, coinKeys, DebtCoins, shownBalance } from '../features/coins/model.ts';
import { defineScript } from '../redis/script.ts';
import { isUnreadable } from '../redis/unreadable.ts';
import { UNREADABLE } from './unreadable.ts';
import type { OperatorServices } from './operation.ts';

const readSummary = defineScript({
  file: new URL('read-summary.lua', import.meta.url),
  keys: ['account', 'standing', 'ledger', 'sessions'],
  answers: ['none', 'summary'],
  library: standingChanges,
  readOnly: true,
});

export const AccountSummary = z
  .object({
    accountId: AccountId,
    kind: z.enum(['guest', 'store']).optional().meta({ description: 'Left out for an account that cannot be read.' }),
    state: z.enum(['open', 'moving', 'banned', 'unreadable']),
    problem: z.string().optional().meta({ description: 'Why nothing else is known of an `unreadable` account.', example: UNREADABLE }),
    bannedUntil: z.iso.datetime().optional(),
    createdAt: z.iso.datetime().optional(),
    lastSeenOn: z.iso.date().optional().meta({
      description:
        'The latest day with a stored trace: an entry of the ledger, a session of a pairing or a store, the first run. Reads leave no trace.',
    }),
    balanceCoins: BalanceCoins.optional(),
    debtCoins: DebtCoins,
  })
  .meta({
    id: 'AccountSummary',
    example: {
      accountId: 'BQ5v1mHk2nYtZ8cXw0aLpR',
      kind: 'guest',
      state: 'open',
      createdAt: '2026-11-22T12:00:00.000Z',
      lastSeenOn: '2026-11-26',
      balanceCoins: 110,
    },
  });

export type Summary = z.input<typeof AccountSummary>;

/** Undefined: the key belongs to no account. */
export function summaryOf(accountId: string, services: OperatorServices): Promise<Summary | undefined> {
  return readSummaryOf(accountId, services).catch((error: unknown) => {
    if (!isUnreadable(error)) throw error;
    return { accountId, state: 'unreadable', problem: UNREADABLE };
  });
}

async function readSummaryOf(accountId: string, { scripts, now }: OperatorServices): Promise<Summary | undefined> {
  const keys = {
    account: accountKey(accountId),
    standing: standingKey(accountId),
    ledger: coinKeys.ledger(accountId),
    sessions: sessionsKey(accountId),
  };
  const [word, createdAt, store = '', firstRunAt, record = '', newest = '', ...sessions] = await scripts.run(readSummary, keys, {});
  if (word === 'none') return undefined;
  const standing = parseStanding(record);
  if (standing.unreadable > 0) return { accountId, state: 'unreadable', problem: UNREADABLE };
  const ban = banAt(standing, now());
  const entry = newest === '' ? undefined : parseEntry(newest);
  const seen = [
    ...sessions.flatMap((text) => parseSession('', text)?.lastSeenAt ?? []),
    ...[timeOf(createdAt), timeOf(firstRunAt), entry === undefined ? undefined : Date.parse(entry.at)].filter((at) => at !== undefined),
  ];
  return {
    accountId,
    kind: store === '' ? 'guest' : 'store',
    state: standing.moving !== undefined ? 'moving' : ban === undefined ? 'open' : 'banned',
    bannedUntil: isoTime(ban?.until),
    createdAt: isoTime(createdAt),
    lastSeenOn: seen.length === 0 ? undefined : new Date(Math.max(...seen)).toISOString().slice(0, 10),
    ...shownBalance(entry?.balanceAfterCoins ?? 0),
  };
}
