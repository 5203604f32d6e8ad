import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { invalid } from '../errors.ts';
import { operation } from './operation.ts';
import { AFTER_A_PAGE, Limit, limitOf } from './page-limit.ts';
import { accountsPart, SCAN_CURSOR, type AccountsPart } from './scan-accounts.ts';
import { more, some } from './shown/cells.ts';
import { listed, looked } from './shown/shown-account.ts';
import { AccountSummary, summaryOf, type Summary } from './account-summary.ts';

/** The most parts that one page reads: 5,000 keys, in some 10 ms of Redis's time. */
const MOST_PARTS = 25;

/** Pause between the parts, so that other requests are served in between. */
const REST_MS = 1;

const Day = z.iso.date('Must be a day such as 2026-11-22');

const is = (description: string) => z.enum(['true', 'false'], 'Must be true or false').optional().meta({ description });

export const listAccounts = operation({
  name: 'accounts list',
  method: 'GET',
  path: '/v1/admin/accounts',
  operationId: 'listAccounts',
  role: 'viewer',
  costly: true,
  summary: 'Lists accounts by kind, ban, debt, and the days on which they were created and last seen, in no order.',
  description:
    'There is no index of accounts, because it would make other requests slower. A page scans some 5,000 keys of Redis, which is 800 ' +
    'accounts, so it may be short, or empty, and still have a `nextCursor`. It ends with the part in which `limit` was reached, so it may ' +
    'have some 100 more. An account that exists all the time is listed at least once, and seldom twice. One whose data is damaged is ' +
    '`unreadable`, and listed whatever the filter is.',
  input: z.object({
    kind: z.enum(['guest', 'store']).optional().meta({ description: 'Guests, or accounts of an app store.' }),
    banned: is('Accounts that are banned, or not.'),
    debt: is('Accounts that owe coins, or not.'),
    createdFrom: Day.optional().meta({ description: 'Created on this day (UTC) or later.' }),
    createdTo: Day.optional().meta({ description: 'Created on this day (UTC) or earlier.' }),
    seenFrom: Day.optional().meta({ description: 'Last seen on this day or later.' }),
    seenTo: Day.optional().meta({ description: 'Last seen on this day or earlier.' }),
    limit: Limit,
    cursor: z.string().regex(SCAN_CURSOR, 'Must be the nextCursor of an earlier page').optional().meta(AFTER_A_PAGE),
  }),
  reply: z.object({
    accounts: z.array(AccountSummary),
    looked: z.int().meta({ description: 'Number of accounts that were read for this page.' }),
    nextCursor: z.string().optional(),
  }),
  errors: ['invalid_request'],
  example: `curl -s "$base/v1/admin/accounts?debt=true" -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ accounts, looked: count, nextCursor }) => [...some(listed, accounts), looked(count), ...more(nextCursor)],
  async prepare({ limit: most, cursor = '0.0', ...filter }, services, { isGone }) {
    const limit = limitOf(most);
    let at: string | undefined = cursor;
    let looked = 0;
    const found = new Map<string, Summary>();
    for (let part = 0; at !== undefined && part < MOST_PARTS && found.size < limit && isGone?.() !== true; part++) {
      if (part > 0) await pause(REST_MS);
      const accounts: AccountsPart | undefined = await accountsPart(at, services);
      if (accounts === undefined) return invalid('cursor', 'Must be the nextCursor of an earlier page');
      const summaries = await Promise.all(accounts.ids.map((accountId) => summaryOf(accountId, services)));
      for (const summary of summaries) {
        if (summary === undefined) continue;
        looked++;
        if (fits(summary, filter)) found.set(summary.accountId, summary);
      }
      at = accounts.next;
    }
    return { reply: { accounts: [...found.values()], looked, ...(at === undefined ? {} : { nextCursor: at }) } };
  },
});

type Filter = Omit<z.output<typeof listAccounts.input>, 'limit' | 'cursor'>;

function fits(summary: Summary, { kind, banned, debt, createdFrom, createdTo, seenFrom, seenTo }: Filter): boolean {
  const { state, debtCoins, lastSeenOn: seenOn = '' } = summary;
  if (state === 'unreadable') return true;
  const createdOn = summary.createdAt?.slice(0, 10) ?? '';
  if (kind !== undefined && summary.kind !== kind) return false;
  if (banned !== undefined && (state === 'banned') !== (banned === 'true')) return false;
  if (debt !== undefined && (debtCoins !== undefined) !== (debt === 'true')) return false;
  if (createdFrom !== undefined && createdOn < createdFrom) return false;
  if (createdTo !== undefined && createdOn > createdTo) return false;
  return (seenFrom === undefined || seenOn >= seenFrom) && (seenTo === undefined || seenOn <= seenTo);
}
