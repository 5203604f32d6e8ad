import { z } from 'zod';
import { valuesOf } from '../accounts/merge-rules.ts';
import type { Holding } from '../accounts/holdings.ts';
import { banAt, type Ban } from '../accounts/standing.ts';
import { Refusal } from '../errors.ts';
import { ENTRY_TYPES, LedgerCursor } from '../features/coins/model.ts';
import { ledgerEnds, operatorHistory, OperatorLedgerEntry, searchLedger } from '../features/coins/operator-history.ts';
import { testProductsIn } from '../features/purchases/subscription/operator-purchases.ts';
import { testCoinsOf } from '../features/purchases/coins/test-coins.ts';
import { explainEntitlement } from '../features/entitlement/explain.ts';
import { Entitlement, entitlementFactsOf, entitlementFields } from '../features/entitlement/model.ts';
import { holdings } from '../holdings.ts';
import { endText, followed, type FoundAccount } from './account-facts.ts';
import { accountReplyOf, Answering, type AccountReply } from './account-reply.ts';
import { Account } from './named-accounts.ts';
import { operation, type OperatorServices } from './operation.ts';
import { Parts } from '../redis/unreadable.ts';
import { AFTER_A_PAGE, Limit, limitOf } from './page-limit.ts';
import { spanFields, spanOf } from './span.ts';
import { more, table } from './shown/cells.ts';
import { accountParts, headOf, ledger } from './shown/shown-account.ts';

export const showHistory = operation({
  name: 'accounts history',
  method: 'GET',
  path: '/v1/admin/accounts/{accountId}/history',
  operationId: 'showAccountHistory',
  role: 'viewer',
  costly: true,
  summary: "An account's ledger, newest entry first, with the origin of grants and adjustments.",
  description: 'With a filter a page searches 2,000 entries at most, so it may be short, or empty, and still have a `nextCursor`.',
  input: z.object({
    accountId: Account,
    limit: Limit,
    cursor: LedgerCursor.optional().meta(AFTER_A_PAGE),
    type: z.enum(ENTRY_TYPES).optional().meta({ description: 'Entries of this type.' }),
    coins: z
      .string()
      .regex(/^[-+]?\d{1,13}$/, 'Must be whole coins such as 50, +50 or -50')
      .optional()
      .meta({
        description: 'Entries of this many coins: `+50` added, `-50` removed, `50` either.',
        example: '50',
        typed: { word: 'COINS' },
      }),
    key: z.string().min(1).max(255).optional().meta({ description: 'Entries with this key. They belong to one operation or to a merge.' }),
    origin: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .meta({
        description: 'Entries by this operator or server key (`key:<id>`); `client`: by neither.',
        example: 'key:ab12cd34',
        typed: { label: 'By' },
      }),
    ...spanFields('Entries'),
  }),
  reply: z.object({ ...Answering, entries: z.array(OperatorLedgerEntry), nextCursor: z.string().optional() }),
  errors: ['account_not_found', 'account_deleted'],
  example: `curl -s $base/v1/admin/accounts/BQ5v1mHk2nYtZ8cXw0aLpR/history -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ accountId, movedFrom, entries, nextCursor }) => [headOf(accountId, movedFrom), table(ledger, entries), ...more(nextCursor)],
  async prepare({ accountId, limit, cursor = '', type, key, coins, origin, ...times }, services) {
    const parts = new Parts();
    const account = await followed(accountId, services, parts);
    if (account instanceof Refusal) return account;
    const { from, to } = spanOf(times);
    const isSearch = [type, key, coins, origin, from, to].some((value) => value !== undefined);
    const page = await parts.read('ledger', () =>
      isSearch
        ? searchLedger(account.accountId, { type, key, coins, origin, from, to }, cursor, limitOf(limit), services.scripts, parts)
        : operatorHistory(account.accountId, cursor, limitOf(limit), services.scripts, parts),
    );
    const { unreadable } = parts;
    return { reply: { accountId: account.accountId, movedFrom: account.movedFrom, entries: [], ...page, unreadable } };
  },
});

export const explain = operation({
  name: 'accounts explain',
  method: 'GET',
  path: '/v1/admin/accounts/{accountId}/explain',
  operationId: 'explainEntitlement',
  role: 'viewer',
  summary: "The reason for an account's entitlement, in sentences.",
  input: z.object({ accountId: Account }),
  reply: z.object({ ...Answering, entitlement: Entitlement.optional(), because: z.array(z.string()) }),
  errors: ['account_not_found', 'account_deleted'],
  example: `curl -s $base/v1/admin/accounts/BQ5v1mHk2nYtZ8cXw0aLpR/explain -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ accountId, movedFrom, because }) => [headOf(accountId, movedFrom), ...because],
  async prepare({ accountId }, services) {
    const parts = new Parts();
    const account = await followed(accountId, services, parts);
    if (account instanceof Refusal) return account;
    const explanation = await explained(account, services, parts);
    return { reply: { accountId: account.accountId, movedFrom: account.movedFrom, ...explanation, unreadable: parts.unreadable } };
  },
});

async function explained({ accountId, fields, standing }: FoundAccount, services: OperatorServices, parts: Parts) {
  const { config, now, scripts } = services;
  const { TRIAL_DAYS, SUBSCRIPTION_REPORTS } = config;
  const rules = { now: now(), trialDays: TRIAL_DAYS, reports: SUBSCRIPTION_REPORTS };
  const { entitlement, because = [] } =
    (await parts.read('entitlement', () => explainEntitlement(entitlementFactsOf(valuesOf(fields, entitlementFields), 'accept'), rules))) ??
    {};
  const { balance = 0 } = (await parts.read('ledger', () => ledgerEnds(accountId, scripts))) ?? {};
  const tests = await parts.read('test purchases', () => sentencesOfTests({ accountId, fields, standing }, services));
  const ban = banAt(standing, now());
  return {
    entitlement,
    because: [
      ...because,
      ...(tests ?? []),
      ...(balance < 0 ? [sentenceOfDebt(-balance)] : []),
      ...(ban === undefined ? [] : [sentenceOfBan(ban)]),
    ],
  };
}

/** The coins and the access that the account has from test purchases, which nobody paid for. */
async function sentencesOfTests({ accountId, fields, standing }: Explained, { now, scripts }: OperatorServices): Promise<string[]> {
  const coins = await testCoinsOf([accountId, ...standing.guests.map(({ id }) => id)], now(), scripts);
  const products = await testProductsIn(fields['purchases'] ?? '', scripts);
  return [
    ...products.map((product) => `The purchase of ${product} is a test: nobody paid for it. TEST_PURCHASES decides what it gives.`),
    ...(coins === 0 ? [] : [`Test purchases gave the account ${coins} coins today, of TEST_COINS_PER_DAY.`]),
  ];
}

type Explained = Pick<FoundAccount, 'accountId' | 'fields' | 'standing'>;

function sentenceOfDebt(coins: number): string {
  return `The account owes ${coins} coins, which were bought, spent and refunded. Coins that come in pay the debt first.`;
}

function sentenceOfBan({ until }: Ban): string {
  return `But the account is banned ${endText(until)}: all calls of its owner are refused.`;
}

const ShowInput = z.object({
  accountId: Account,
  at: z.iso
    .datetime({ offset: true, error: 'Must be a time such as 2026-11-22T12:00:00Z' })
    .optional()
    .meta({ description: 'Also gives the balance at this time, as `balanceAt`.' }),
});

/** The operation that shows the data of an account in all holdings. */
export function showWith<const Held extends readonly Holding[]>(held: Held) {
  return operation<typeof ShowInput, AccountReply<Held[number]>>({
    name: 'accounts show',
    method: 'GET',
    path: '/v1/admin/accounts/{accountId}',
    operationId: 'showAccount',
    role: 'viewer',
    summary: 'All that is known about an account.',
    description:
      'With the newest ten entries of its ledger. `at` also asks for the balance at that time. For an account that moved, the answer shows ' +
      'its new account. InstallIds, session tokens and purchase tokens are not stored, so none is shown.',
    input: ShowInput,
    reply: accountReplyOf(held),
    errors: ['account_not_found', 'account_deleted'],
    example: `curl -s $base/v1/admin/accounts/BQ5v1mHk2nYtZ8cXw0aLpR -H "authorization: Bearer $COINOP_KEY"`,
    async prepare({ accountId: asked, at }, services) {
      const parts = new Parts();
      const account = await followed(asked, services, parts);
      if (account instanceof Refusal) return account;
      const { accountId, movedFrom, standing } = account;
      const owners: [string, ...string[]] = [accountId, ...standing.guests.map(({ id }) => id)];
      const seen = { ...account, owners, at: at === undefined ? undefined : Date.parse(at) };
      const shown = await parts.readEach(
        held,
        ({ name }) => name,
        (holding) => holding.shown?.show(seen, services, parts),
      );
      const { unreadable } = parts;
      return { reply: Object.assign({ accountId, movedFrom, unreadable }, ...shown) as z.input<AccountReply<Held[number]>> };
    },
  });
}

export const show = { ...showWith(holdings), shown: accountParts };
