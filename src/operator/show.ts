import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { checksCaller } from '../accounts/prologues.ts';
import type { Ban } from '../accounts/moves-record.ts';
import { Refusal } from '../errors.ts';
import { BalanceCoins, coinKeys, ledgerLibrary } from '../features/coins/model.ts';
import { parseEntryForOperators } from '../features/coins/history.ts';
import { explainEntitlement } from '../features/entitlement/explain.ts';
import { Entitlement, entitlementFactsOf } from '../features/entitlement/model.ts';
import { Seat } from '../features/rooms/model.ts';
import { isoTime, Subscription, subscriptionFactsOf, subscriptionOf, timeOf } from '../features/subscription/model.ts';
import { TrialReply, trialOf } from '../features/trial/model.ts';
import { definePrologue, defineScript } from '../redis/script.ts';
import { operatorFor } from '../server/identity/caller.ts';
import { balanceAfter, endText, followed, MOST_BOARDS, standingBan, type FoundAccount } from './account-facts.ts';
import { Account } from './find.ts';
import { operation, type OperatorParts } from './operation.ts';
import { Limit, limitOf } from './pages.ts';
import { MOST_PURCHASES, Purchase, purchasesWith } from './purchases.ts';
import { MOST_ROOMS, seatsOf } from './seats.ts';

const refusesNobody = definePrologue({
  file: new URL('prologue-record.lua', import.meta.url),
  keys: ['moves', 'signedOut'],
  args: [],
  answers: [],
  inPlaceOf: checksCaller,
});

const historyScript = defineScript({
  file: new URL('../features/coins/history.lua', import.meta.url),
  keys: ['ledger'],
  args: ['cursor', 'limit'],
  answers: ['page'],
  prologue: refusesNobody,
  library: ledgerLibrary,
  readOnly: true,
});

const balanceAtScript = defineScript({
  file: new URL('balance-at.lua', import.meta.url),
  keys: ['ledger'],
  args: ['at'],
  answers: ['entry', 'before', 'none'],
  readOnly: true,
});

const Time = z.iso.datetime();

const Entry = z
  .object({
    id: z.string(),
    type: z.enum(['credit', 'purchase', 'debit', 'merge', 'grant', 'adjust']),
    coins: z.number().int(),
    balanceAfterCoins: BalanceCoins,
    key: z.string(),
    at: Time,
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

const Entries = z.array(Entry);

const Asked = {
  accountId: AccountId,
  movedFrom: AccountId.optional().meta({ description: 'The account that was asked for, if it moved into this one.' }),
};

export const showHistory = operation({
  name: 'accounts history',
  method: 'GET',
  path: '/v1/admin/accounts/{accountId}/history',
  operationId: 'showAccountHistory',
  summary: "An account's ledger, newest entry first, with the origin of grants and adjustments.",
  input: z.object({
    accountId: Account,
    limit: Limit,
    cursor: z
      .string()
      .regex(/^[1-9]\d{0,14}(\.[1-9]\d{0,14}){0,999}(~(\d{18})?~\d{1,3})?$/, 'Must be the nextCursor of an earlier page')
      .optional(),
  }),
  reply: z.object({ ...Asked, entries: Entries, nextCursor: z.string().optional() }),
  errors: ['account_not_found', 'account_deleted'],
  example: `curl -s $base/v1/admin/accounts/BQ5v1mHk2nYtZ8cXw0aLpR/history -H "authorization: Bearer $COINOP_KEY"`,
  async prepare({ accountId, limit, cursor = '' }, parts) {
    const account = await followed(accountId, parts);
    if (account instanceof Refusal) return account;
    const page = await historyOf(account.accountId, cursor, limitOf(limit), parts);
    return { reply: { accountId: account.accountId, movedFrom: account.movedFrom, ...page } };
  },
});

export const explain = operation({
  name: 'accounts explain',
  method: 'GET',
  path: '/v1/admin/accounts/{accountId}/explain',
  operationId: 'explainEntitlement',
  summary: 'Why an account has the entitlement that it has, in sentences.',
  input: z.object({ accountId: Account }),
  reply: z.object({ ...Asked, entitlement: Entitlement, because: z.array(z.string()) }),
  errors: ['account_not_found', 'account_deleted'],
  example: `curl -s $base/v1/admin/accounts/BQ5v1mHk2nYtZ8cXw0aLpR/explain -H "authorization: Bearer $COINOP_KEY"`,
  async prepare({ accountId }, parts) {
    const account = await followed(accountId, parts);
    if (account instanceof Refusal) return account;
    return { reply: { accountId: account.accountId, movedFrom: account.movedFrom, ...explained(account, parts) } };
  },
});

function explained({ fields, record }: FoundAccount, { config, now }: OperatorParts) {
  const { TRIAL_DAYS, SUBSCRIPTION_REPORTS } = config;
  const rules = { now: now(), trialDays: TRIAL_DAYS, reports: SUBSCRIPTION_REPORTS };
  const { entitlement, because } = explainEntitlement(entitlementFactsOf(fields, 'accept'), rules);
  const ban = standingBan(record, now());
  return { entitlement, because: ban === undefined ? [...because] : [...because, sentenceOfBan(ban)] };
}

function sentenceOfBan({ until }: Ban): string {
  return `But the account is banned ${endText(until)}: all calls of its owner are refused.`;
}

export const show = operation({
  name: 'accounts show',
  method: 'GET',
  path: '/v1/admin/accounts/{accountId}',
  operationId: 'showAccount',
  summary: 'All that is known about an account.',
  description:
    'With the newest ten entries of its ledger. `at` asks for the balance at that time too. An account that moved is followed. No ' +
    'installId, session or purchase token is kept, so none is shown.',
  input: z.object({
    accountId: Account,
    at: z.iso
      .datetime({ offset: true, error: 'Must be a time such as 2026-11-22T12:00:00Z' })
      .optional()
      .meta({ description: 'For `balanceAt`.' }),
  }),
  reply: z.object({
    ...Asked,
    kind: z.enum(['guest', 'store']),
    state: z.enum(['open', 'moving', 'banned']).meta({ description: '`moving`: on its way into another account.' }),
    ban: z
      .object({ since: Time, until: Time.optional(), reason: z.string() })
      .optional()
      .meta({ description: 'Without `until` it has no end.' }),
    createdAt: Time.optional(),
    installVerifiedAt: Time.optional(),
    firstRunAt: Time.optional(),
    balanceCoins: BalanceCoins,
    balanceAt: z
      .object({ at: Time, balanceCoins: BalanceCoins.optional() })
      .optional()
      .meta({ description: 'Without `balanceCoins`: retention has deleted the entries of that time.' }),
    ledger: z.object({ entries: z.number().int(), oldestAt: Time.optional() }),
    history: Entries,
    sessions: z.object({
      signOutsEverywhere: z.number().int().meta({ description: 'Sessions from before the last one have ended.' }),
    }),
    trial: TrialReply.extend({ device: z.string().optional().meta({ description: 'A hash of the deviceId.' }) }),
    subscription: Subscription.extend({ reportedAt: Time.optional() }),
    entitlement: Entitlement,
    purchases: z.array(Purchase).meta({ description: `${MOST_PURCHASES} at most; those that decide about the subscription come first.` }),
    rooms: z.array(Seat).meta({ description: `Its seats in rooms: in the last ${MOST_ROOMS} or so that it entered in two weeks.` }),
    boards: z.object({ count: z.number().int(), games: z.array(z.string()) }).meta({ description: `${MOST_BOARDS} games at most.` }),
    guests: z.array(z.object({ accountId: AccountId, entries: z.number().int() })).meta({ description: 'The accounts that moved in.' }),
  }),
  errors: ['account_not_found', 'account_deleted'],
  example: `curl -s $base/v1/admin/accounts/BQ5v1mHk2nYtZ8cXw0aLpR -H "authorization: Bearer $COINOP_KEY"`,
  async prepare({ accountId: asked, at }, parts) {
    const account = await followed(asked, parts);
    if (account instanceof Refusal) return account;
    const { accountId, movedFrom, fields, record, generation } = account;
    const { config, now } = parts;
    const owners = [accountId, ...record.guests.map(({ id }) => id)];
    const [{ entries }, purchases, rooms, balanceAt] = await Promise.all([
      historyOf(accountId, '', NEWEST, parts),
      purchasesWith(fields.purchases, owners, parts),
      seatsOf(owners, parts),
      at === undefined ? undefined : balanceOf(account, Date.parse(at), parts),
    ]);
    const { trialDevice } = fields;
    return {
      reply: {
        accountId,
        movedFrom,
        kind: fields.store === '' ? ('guest' as const) : ('store' as const),
        ...standingOf(record, now()),
        createdAt: isoTime(fields.createdAt),
        installVerifiedAt: isoTime(fields.installVerifiedAt),
        firstRunAt: isoTime(fields.firstRunAt),
        balanceCoins: balanceAfter(account.lastEntry),
        balanceAt,
        ledger: { entries: account.entries, oldestAt: account.oldestEntry === '' ? undefined : timeOfEntry(account.oldestEntry) },
        history: entries,
        sessions: { signOutsEverywhere: generation },
        trial: {
          ...trialOf(timeOf(fields.trialStartedAt), now(), config.TRIAL_DAYS),
          ...(trialDevice === '' ? {} : { device: trialDevice }),
        },
        subscription: {
          ...subscriptionOf(subscriptionFactsOf(fields, config.SUBSCRIPTION_REPORTS), now()),
          reportedAt: isoTime(fields.reportedAt),
        },
        entitlement: explained(account, parts).entitlement,
        purchases,
        rooms,
        boards: { count: account.gameCount, games: [...account.games] },
        guests: record.guests.map(({ id, lastSeq }) => ({ accountId: id, entries: lastSeq })),
      },
    };
  },
});

function standingOf(record: FoundAccount['record'], now: number) {
  if (record.moving !== undefined) return { state: 'moving' as const };
  const ban = standingBan(record, now);
  if (ban === undefined) return { state: 'open' as const };
  const { since, until, reason } = ban;
  return { state: 'banned' as const, ban: { since: isoTime(since)!, until: isoTime(until), reason } };
}

/** Entries that `show` has. */
const NEWEST = 10;

async function historyOf(accountId: string, cursor: string, limit: number, { scripts }: Pick<OperatorParts, 'scripts'>) {
  const keys = { ledger: coinKeys.ledger(accountId) };
  const [, nextCursor = '', ...lines] = await scripts.runAs(operatorFor(accountId), historyScript, keys, { cursor, limit });
  return { entries: lines.map(parseEntryForOperators), ...(nextCursor === '' ? {} : { nextCursor }) };
}

function timeOfEntry(line: string): string {
  return parseEntryForOperators(line).at;
}

/** The balance at a time, by the account's own ledger: the coins of a guest that moved in later were in the guest's account then. */
async function balanceOf({ accountId }: FoundAccount, at: number, { scripts }: Pick<OperatorParts, 'scripts'>) {
  const time = new Date(at).toISOString();
  const [word, entry = ''] = await scripts.run(balanceAtScript, { ledger: coinKeys.ledger(accountId) }, { at });
  if (word === 'none') return { at: time, balanceCoins: 0 };
  if (word === 'entry') return { at: time, balanceCoins: balanceAfter(entry) };
  // Only of the first entry of all is it known that nothing was before it.
  return /^1[ :]/.test(entry) ? { at: time, balanceCoins: 0 } : { at: time };
}
