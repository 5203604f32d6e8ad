import { hash } from 'node:crypto';
import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { Refusal } from '../errors.ts';
import { BalanceCoins, CoinKey, DebtCoins } from '../features/coins/model.ts';
import { afterWrites } from '../redis/script-runner.ts';
import { countsCoins, type Share } from './coin-limits.ts';
import { countsOf } from './grants.ts';
import { operation, Reason } from './operation.ts';
import { takeBackGroup, takeBackOutcomes, type GrantTakenBack, type TakeBackTerms } from './take-backs.ts';

const MOST_ACCOUNTS = 1000;

/** 1,000 accounts are 25 KB, or some 35 KB with each on its own line. */
const BODY_BYTES = 64 * 1024;

const TakenBack = z
  .object({
    account: z.string().meta({ description: 'As it was sent.' }),
    outcome: z.enum(takeBackOutcomes).meta({
      description:
        '`taken`: it gave the coins back now, as many as it had. `replayed`: it did so before. `deleted`: nothing is left of it. `no_grant`: its ' +
        'ledger has no grant of an operator under this key.',
    }),
    takenCoins: z.number().int().min(0).optional().meta({ description: 'Of `replayed`: what it gave back then.', example: 20 }),
    grantedCoins: z.number().int().min(1).optional().meta({ description: 'What it had been granted.', example: 20 }),
    balanceAfterCoins: BalanceCoins.optional().meta({ description: 'The balance now.' }),
    debtCoins: DebtCoins,
    movedTo: AccountId.optional().meta({ description: 'The account into which the guest moved, and which has the entry.' }),
    grantedTo: AccountId.optional().meta({ description: 'The account that was granted the coins: it, or a guest that moved into it.' }),
  })
  .meta({
    id: 'GrantTakenBack',
    example: { account: 'BQ5v1mHk2nYtZ8cXw0aLpR', outcome: 'taken', takenCoins: 20, grantedCoins: 20, balanceAfterCoins: 90 },
  });

/** For the endpoint and for the tool. */
export const INTO_DEBT = 'Accounts owe what they have spent of the coins. Left out: each gives back what it still has.';

export const takeBack = operation({
  name: 'coins take-back',
  method: 'POST',
  path: '/v1/admin/coins/take-back',
  operationId: 'takeBackGrant',
  role: 'economist',
  cannotBeUndone: true,
  summary: 'Takes back what operators granted to up to 1,000 accounts under a key, once for each grant.',
  description:
    'The ledgers say who was granted how much. Each account that was granted coins has an entry of type `adjust` with the reason and the ' +
    'operator, also if it had no coin left. Repeat a call that failed in the middle: accounts that gave the coins back are `replayed`, and ' +
    'give nothing more. A banned account gives them back too. For a guest that has moved since, its account gives them back. ' +
    'A grant is taken back at the pace of grants.',
  keyedBodyBytes: BODY_BYTES,
  input: z.object({
    accounts: z
      .array(
        z.string().min(1).max(128).meta({ description: 'An accountId. Any other text is `no_grant`.', example: 'BQ5v1mHk2nYtZ8cXw0aLpR' }),
      )
      .min(1)
      .max(MOST_ACCOUNTS),
    key: CoinKey.meta({ description: 'The key of the grant.', example: 'comp-2026-11' }),
    intoDebt: z.boolean().optional().meta({ description: INTO_DEBT }),
    reason: Reason,
    dryRun: z.boolean().optional().meta({ description: 'true: nothing is changed, and `taken` is what would be taken now.' }),
  }),
  reply: z.object({ results: z.array(TakenBack) }),
  errors: ['rate_limited'],
  example:
    `curl -s $base/v1/admin/coins/take-back -H "authorization: Bearer $COINOP_KEY" -H 'content-type: application/json' ` +
    `-d '{"accounts":["BQ5v1mHk2nYtZ8cXw0aLpR"],"key":"comp-2026-11","reason":"wrong file, ticket 4711"}'`,
  async prepare({ accounts, key, intoDebt = false, reason, dryRun = false }, services, { by, key: serverKey }) {
    const { grantPace } = services;
    const terms: TakeBackTerms = { key, intoDebt, reason, by: serverKey ?? by };
    const resultsOf = (done: readonly GrantTakenBack[]) => done.map((each, index) => ({ account: accounts[index]!, ...each }));
    const sharesOf = (done: readonly GrantTakenBack[], or?: GrantTakenBack['outcome']): Share[] =>
      done.flatMap(({ outcome, movedTo, takenCoins = 0 }, index) =>
        outcome === 'taken' || outcome === or ? [[movedTo ?? accounts[index]!, takenCoins]] : [],
      );
    const preview =
      dryRun || countsCoins(services) ? await grantPace.inGroups(accounts, (group) => takeBackGroup(group, terms, services, true)) : [];
    if (preview instanceof Refusal) return preview;
    if (dryRun) return { reply: { results: resultsOf(preview) } };
    return {
      coins: {
        name: `take back ${key} ${hash('sha256', JSON.stringify([accounts, intoDebt]), 'base64url')}`,
        shares: sharesOf(preview),
        changed: ({ results }) => sharesOf(results, 'replayed'),
      },
      question: `Take the grant ${key} back from ${accounts.length} accounts, ${intoDebt ? 'into debt where it is spent' : 'down to what each still has of it'}? Reason: ${reason}`,
      what: { accounts: accounts.length, key, intoDebt: intoDebt ? 'yes' : undefined },
      why: reason,
      noted: ({ results }) => takenOf(results),
      async act() {
        const done = await grantPace.inGroups(accounts, (group) => afterWrites(takeBackGroup(group, terms, services)));
        return done instanceof Refusal ? done : { results: resultsOf(done) };
      },
    };
  },
});

/** The counts of the outcomes and the coins, for the log. */
export function takenOf(results: readonly Pick<GrantTakenBack, 'outcome' | 'takenCoins'>[]) {
  const coins = results.reduce((sum, { outcome, takenCoins = 0 }) => sum + (outcome === 'taken' ? takenCoins : 0), 0);
  return { coins, ...countsOf(results) };
}
