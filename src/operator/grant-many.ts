import { hash } from 'node:crypto';
import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { Refusal } from '../errors.ts';
import { CoinKey, Coins, DebtCoins } from '../features/coins/model.ts';
import { afterWrites } from '../redis/script-runner.ts';
import { countsCoins, type Share } from './coin-limits.ts';
import { countsOf, grantGroup, grantOutcomes, previewWithKey, type Granted, type GrantTerms } from './grants.ts';
import { coinsText } from './shown/cells.ts';
import { operation, Reason } from './operation.ts';

const MOST_ENTRIES = 1000;

/**
 * 1,000 entries are 54 KB, or some 90 KB with each field on its own line. The service reads such a long body only from a key that may
 * grant. For other requests the usual limit holds.
 */
const BODY_BYTES = 128 * 1024;

const GrantResult = z
  .object({
    account: z.string().meta({ description: 'As it was sent.' }),
    outcome: z.enum(grantOutcomes).meta({
      description:
        '`granted`: it got the coins now. `replayed`: it already has them under this key. The others changed nothing: the account is banned or ' +
        'deleted, there is none, or it refused (`code`).',
    }),
    balanceAfterCoins: z.number().int().optional().meta({ description: 'Of `granted` and `replayed`: the balance after the entry.' }),
    debtCoins: DebtCoins,
    movedTo: AccountId.optional().meta({ description: 'The account into which the guest moved. It has the entry.' }),
    code: z
      .string()
      .optional()
      .meta({
        description:
          'Of `refused`: `key_reused` if the account used the key for another operation or other coins, `balance_limit` above 10^12, `internal` ' +
          'if its data cannot be read: `npm run audit` says why.',
      }),
  })
  .meta({ id: 'GrantResult', example: { account: 'BQ5v1mHk2nYtZ8cXw0aLpR', outcome: 'granted', balanceAfterCoins: 120 } });

export const grantMany = operation({
  name: 'coins grant',
  method: 'POST',
  path: '/v1/admin/coins/grant-many',
  operationId: 'grantCoinsToMany',
  role: 'economist',
  cannotBeUndone: true,
  summary: 'Grants coins to up to 1,000 accounts, once for each account and key.',
  description:
    'Each account that gets coins has an entry of type `grant` with the reason and the operator. The results have the order of the entries. ' +
    'Repeat a call that failed in the middle with the same key: accounts that already have the coins are `replayed`. The coins of a guest ' +
    'that has moved go to its account, and both together get them once. Accounts that do not exist get nothing. A process grants to 1,000 ' +
    'accounts a second, in all calls together, and lets 10,000 wait. The body may have 128 KiB.',
  keyedBodyBytes: BODY_BYTES,
  input: z.object({
    entries: z
      .array(
        z.object({
          account: z
            .string()
            .min(1)
            .max(128)
            .meta({ description: 'An accountId. Any other text is `unknown`.', example: 'BQ5v1mHk2nYtZ8cXw0aLpR' }),
          coins: Coins,
        }),
      )
      .min(1)
      .max(MOST_ENTRIES),
    key: CoinKey,
    reason: Reason,
    dryRun: z.boolean().optional().meta({
      description:
        'true: nothing is changed. `granted` then means that the account can get the coins, and `replayed` that it already has them.',
    }),
  }),
  reply: z.object({ results: z.array(GrantResult) }),
  errors: ['rate_limited'],
  example:
    `curl -s $base/v1/admin/coins/grant-many -H "authorization: Bearer $COINOP_KEY" -H 'content-type: application/json' ` +
    `-d '{"entries":[{"account":"BQ5v1mHk2nYtZ8cXw0aLpR","coins":20}],"key":"comp-2026-11","reason":"outage of 3 November"}'`,
  async prepare({ entries, key, reason, dryRun = false }, services, { by, key: serverKey }) {
    const resultsOf = (outcomes: readonly Granted[]) =>
      outcomes.map((outcome, index) => ({ account: entries[index]!.account, ...outcome }));
    const grants = entries.map(({ account, coins }) => ({ accountId: account, coins }));
    const coins = entries.reduce((sum, entry) => sum + entry.coins, 0);
    if (dryRun) {
      const preview = await services.grantPace.inGroups(grants, (group) => previewWithKey(group, key, services));
      return Array.isArray(preview) ? { reply: { results: resultsOf(preview) } } : preview;
    }
    const terms: GrantTerms = { key, reason, by: serverKey ?? by };
    // The coins are summed up by the account that gets them. So guests of one account do not have separate sums.
    const accounts = countsCoins(services)
      ? await services.grantPace.inGroups(grants, (group) => previewWithKey(group, key, services))
      : [];
    if (accounts instanceof Refusal) return accounts;
    const shareOf = ({ movedTo }: Pick<Granted, 'movedTo'>, index: number): Share => [
      movedTo ?? entries[index]!.account,
      entries[index]!.coins,
    ];
    return {
      coins: {
        name: `grant ${key} ${hash('sha256', JSON.stringify(grants), 'base64url')}`,
        shares: entries.flatMap((_, index) => {
          const account = accounts[index] ?? UNMOVED;
          return account.outcome === 'replayed' ? [] : [shareOf(account, index)];
        }),
        changed: ({ results }) => results.flatMap((result, index) => (isGranted(result) ? [shareOf(result, index)] : [])),
      },
      question: `Grant ${coinsText(coins)} in sum to ${entries.length === 1 ? '1 account' : `${entries.length} accounts`}? Key: ${key}. Reason: ${reason}`,
      what: { accounts: entries.length, coins, key },
      why: reason,
      noted: ({ results }) => countsOf(results),
      async act() {
        const outcomes = await services.grantPace.inGroups(grants, (group) => afterWrites(grantGroup(group, terms, services)));
        return Array.isArray(outcomes) ? { results: resultsOf(outcomes) } : outcomes;
      },
    };
  },
});

const isGranted = ({ outcome }: Pick<Granted, 'outcome'>): boolean => outcome === 'granted' || outcome === 'replayed';

/** Of an account that was not looked at. */
const UNMOVED: Granted = { outcome: 'granted' };
