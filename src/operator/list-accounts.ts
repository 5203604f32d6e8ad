import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { accountKey, accountKeyPattern, standingKey } from '../accounts/account-keys.ts';
import { isoTime, timeOf } from '../accounts/fields.ts';
import { AccountId } from '../accounts/ids.ts';
import { parseSession, sessionsKey } from '../accounts/session-list.ts';
import { banAt, parseStanding, standingChanges } from '../accounts/standing.ts';
import { invalid } from '../errors.ts';
import { parseEntry } from '../features/coins/history.ts';
import { BalanceCoins, coinKeys, DebtCoins, shownBalance } from '../features/coins/model.ts';
import { defineScript } from '../redis/script.ts';
import { operation, type OperatorServices } from './operation.ts';
import { AFTER_A_PAGE, Limit, limitOf } from './page-limit.ts';

const scanAccounts = defineScript({
  file: new URL('scan-accounts.lua', import.meta.url),
  keys: ['place'],
  args: ['cursor', 'count'],
  answers: ['part'],
  readOnly: true,
});

const readSummary = defineScript({
  file: new URL('read-summary.lua', import.meta.url),
  keys: ['account', 'standing', 'ledger', 'sessions'],
  args: [],
  answers: ['none', 'summary'],
  library: standingChanges,
  readOnly: true,
});

/** Keys that one script scans, in some 0.1 ms. An account has about six keys, so a part has some 40 accounts, which are then read. */
const KEYS_AT_ONCE = 200;

/** Most parts that one page reads: 5,000 keys, in some 10 ms of Redis. */
const MOST_PARTS = 25;

/** Pause between the parts, so that other requests are served in between. */
const REST_MS = 1;

const Day = z.iso.date('Must be a day such as 2026-11-22');

const AccountSummary = z
  .object({
    accountId: AccountId,
    kind: z.enum(['guest', 'store']),
    state: z.enum(['open', 'moving', 'banned']),
    bannedUntil: z.iso.datetime().optional(),
    createdAt: z.iso.datetime().optional(),
    lastSeenOn: z.iso.date().optional().meta({
      description:
        'The latest day with a stored trace: an entry of the ledger, a session of a pairing or a store, the first run. Reads leave no trace.',
    }),
    balanceCoins: BalanceCoins,
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

type Summary = z.input<typeof AccountSummary>;

const is = (description: string) => z.enum(['true', 'false'], 'Must be true or false').optional().meta({ description });

const CURSOR = /^(\d{1,3})\.(\d{1,20})$/;

export const listAccounts = operation({
  name: 'accounts list',
  method: 'GET',
  path: '/v1/admin/accounts',
  operationId: 'listAccounts',
  role: 'viewer',
  costly: true,
  summary: 'Accounts by kind, ban, debt, and the days of creation and of the last trace, in no order.',
  description:
    'There is no index of accounts, because it would make other requests slower. A page scans some 5,000 keys of Redis, which is 800 ' +
    'accounts, so it may be short, or empty, and still have a `nextCursor`. It ends with the part in which `limit` was reached, so it may ' +
    'have some 100 more. An account that exists all the time is listed at least once, and seldom twice.',
  input: z.object({
    kind: z.enum(['guest', 'store']).optional().meta({ description: 'Guests, or accounts of an app store.' }),
    banned: is('Accounts that are banned, or not.'),
    debt: is('Accounts that owe coins, or not.'),
    createdFrom: Day.optional().meta({ description: 'Created on this day (UTC) or later.' }),
    createdTo: Day.optional().meta({ description: 'Created before this day.' }),
    seenFrom: Day.optional().meta({ description: 'Last seen on this day or later.' }),
    seenTo: Day.optional().meta({ description: 'Last seen before this day.' }),
    limit: Limit,
    cursor: z.string().regex(CURSOR, 'Must be the nextCursor of an earlier page').optional().meta(AFTER_A_PAGE),
  }),
  reply: z.object({
    accounts: z.array(AccountSummary),
    looked: z.int().meta({ description: 'Number of accounts that were read for this page.' }),
    nextCursor: z.string().optional(),
  }),
  errors: ['invalid_request'],
  example: `curl -s "$base/v1/admin/accounts?debt=true" -H "authorization: Bearer $COINOP_KEY"`,
  async prepare({ limit: most, cursor = '0.0', ...filter }, services, { isGone }) {
    const limit = limitOf(most);
    const places = placesOf(services);
    const [, primary, from = '0'] = CURSOR.exec(cursor)!;
    let index = Number(primary);
    if (index >= places.length) return invalid('cursor', 'Must be the nextCursor of an earlier page');
    let at = from;
    let looked = 0;
    const found = new Map<string, Summary>();
    for (let part = 0; part < MOST_PARTS && found.size < limit && isGone?.() !== true; part++) {
      if (part > 0) await pause(REST_MS);
      const [, next = '0', ...keys] = await services.scripts.run(
        scanAccounts,
        { place: places[index]! },
        { cursor: at, count: KEYS_AT_ONCE },
      );
      const summaries = await Promise.all(keys.flatMap((key) => idIn(key) ?? []).map((accountId) => summaryOf(accountId, services)));
      for (const summary of summaries) {
        if (summary === undefined) continue;
        looked++;
        if (fits(summary, filter)) found.set(summary.accountId, summary);
      }
      at = next;
      if (next !== '0') continue;
      if (++index === places.length) return { reply: { accounts: [...found.values()], looked } };
    }
    return { reply: { accounts: [...found.values()], looked, nextCursor: `${index}.${at}` } };
  },
});

const KEY = accountKeyPattern('account');

function idIn(key: string): string | undefined {
  return KEY.exec(key)?.[1];
}

/** Most random names that are tried to find one on each primary. With a hundred equal primaries 1 in 20,000 lists would miss a primary. */
const MOST_DRAWN = 1000;

/** A key on each primary; a single Redis has one. Their order stays the same as long as the slots do not move. */
function placesOf({ scripts }: OperatorServices): string[] {
  const places: string[] = [];
  for (let number = 0; number < MOST_DRAWN; number++) {
    const key = `{${number}}`;
    if (!places.some((place) => scripts.areTogether(place, key))) places.push(key);
  }
  return places;
}

async function summaryOf(accountId: string, { scripts, now }: OperatorServices): Promise<Summary | undefined> {
  const keys = {
    account: accountKey(accountId),
    standing: standingKey(accountId),
    ledger: coinKeys.ledger(accountId),
    sessions: sessionsKey(accountId),
  };
  const [word, createdAt, store = '', firstRunAt, record = '', newest = '', ...sessions] = await scripts.run(readSummary, keys, {});
  if (word === 'none') return undefined;
  const standing = parseStanding(record);
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

type Filter = Omit<z.output<typeof listAccounts.input>, 'limit' | 'cursor'>;

function fits(summary: Summary, { kind, banned, debt, createdFrom, createdTo, seenFrom, seenTo }: Filter): boolean {
  const { state, debtCoins, lastSeenOn: seenOn = '' } = summary;
  const createdOn = summary.createdAt?.slice(0, 10) ?? '';
  if (kind !== undefined && summary.kind !== kind) return false;
  if (banned !== undefined && (state === 'banned') !== (banned === 'true')) return false;
  if (debt !== undefined && (debtCoins !== undefined) !== (debt === 'true')) return false;
  if (createdFrom !== undefined && createdOn < createdFrom) return false;
  if (createdTo !== undefined && createdOn >= createdTo) return false;
  return (seenFrom === undefined || seenOn >= seenFrom) && (seenTo === undefined || seenOn < seenTo);
}
