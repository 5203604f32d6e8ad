import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { refuse, Refusal } from '../errors.ts';
import { BalanceCoins, DebtCoins, shownBalance } from '../features/coins/model.ts';
import { ledgerEnds } from '../features/coins/operator-history.ts';
import { boardKeys } from '../features/highscores/model.ts';
import { purchasesOf } from '../features/subscription/model.ts';
import { followed, type FoundAccount } from './account-facts.ts';
import { Account } from './find.ts';
import { readSet } from '../redis/reads.ts';
import { operation, Reason, type OperatorServices } from './operation.ts';

export const deleteAccount = operation({
  name: 'accounts delete',
  method: 'POST',
  path: '/v1/admin/accounts/{accountId}/delete',
  operationId: 'deleteAccountForUser',
  role: 'admin',
  title: 'Delete for good',
  cannotBeUndone: true,
  summary: 'Permanently deletes an account, with the guests that moved into it.',
  description:
    'For users who ask for it and cannot do it themselves, because the install is lost or the account is banned. It has the effect of ' +
    '`POST /v1/account/delete`. First make sure that the account’s user is asking. The user of a banned store account may open a new one.',
  input: z.object({ accountId: Account, reason: Reason }),
  reply: z.object({
    accountId: AccountId,
    balanceCoins: BalanceCoins.meta({ description: 'The coins that were deleted.' }),
    debtCoins: DebtCoins,
  }),
  errors: ['account_not_found', 'account_deleted'],
  example:
    `curl -s $base/v1/admin/accounts/BQ5v1mHk2nYtZ8cXw0aLpR/delete -H "authorization: Bearer $COINOP_KEY" ` +
    `-H 'content-type: application/json' -d '{"reason":"asked by post, ticket 4711"}'`,
  shown: ({ accountId }) => [`${accountId} is deleted.`],
  async prepare({ accountId: asked, reason }, services) {
    const account = await followed(asked, services);
    if (account instanceof Refusal) return account;
    const { accountId } = account;
    const ledger = await ledgerEnds(accountId, services.scripts);
    return {
      question: `Permanently delete the account ${accountId}, with ${await contentOf(account, ledger, services)}? Reason: ${reason}`,
      what: { account: accountId },
      why: reason,
      typed: { what: 'the coins that will be deleted', figure: Math.max(0, ledger.balance) },
      act: () => deleted(accountId, ledger, services),
    };
  },
});

type Ledger = Awaited<ReturnType<typeof ledgerEnds>>;

async function contentOf({ accountId, fields, standing }: FoundAccount, { balance, entries }: Ledger, { scripts }: OperatorServices) {
  const games = await readSet(scripts, boardKeys.ofAccount(accountId));
  const parts = [
    `its balance of ${balance}`,
    `its ledger (${entries})`,
    `its boards (${games.length})`,
    `its purchases (${purchasesOf(fields['purchases'] ?? '').length})`,
  ];
  return `${parts.join(', ')} and the guests that moved into it (${standing.guests.length})`;
}

async function deleted(accountId: string, { balance }: Ledger, { deletions }: OperatorServices) {
  try {
    await deletions.delete(accountId, 'operator');
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'store_unavailable') throw error;
    if (error.code === 'account_deleted') return refuse('account_deleted');
    return refuse('account_not_found', { message: 'The account has just moved into another one: find it again.' });
  }
  return { accountId, ...shownBalance(balance) };
}
