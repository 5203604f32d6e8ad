import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { refuse, Refusal } from '../errors.ts';
import { BalanceCoins, DebtCoins, shownBalance } from '../features/coins/model.ts';
import { ledgerEnds } from '../features/coins/operator-history.ts';
import { boardKeys } from '../features/highscores/model.ts';
import { purchasesOf } from '../features/purchases/subscription/model.ts';
import type { FoundAccount } from './account-facts.ts';
import { read } from '../redis/reads.ts';
import { accountChange } from './account-change.ts';
import type { OperatorServices } from './operation.ts';

export const deleteAccount = accountChange({
  verb: 'delete',
  operationId: 'deleteAccountForUser',
  role: 'admin',
  title: 'Delete for good',
  cannotBeUndone: true,
  summary: 'Permanently deletes an account, together with the guests that moved into it.',
  description:
    'For users who ask for it and cannot do it themselves, because the install is lost or the account is banned. It has the effect of ' +
    '`POST /v1/account/delete`. First make sure that the account’s user is asking. The user of a banned store account may open a new one.',
  reply: z.object({
    accountId: AccountId,
    balanceCoins: BalanceCoins.meta({ description: 'The coins that were deleted.' }),
    debtCoins: DebtCoins,
  }),
  body: { reason: 'asked by post, ticket 4711' },
  shown: ({ accountId }) => [`${accountId} is deleted.`],
  async plan(account, _, services) {
    const { accountId } = account;
    const ledger = await ledgerEnds(accountId, services.scripts);
    return {
      question: `Permanently delete the account ${accountId}, with ${await contentOf(account, ledger, services)}?`,
      typed: { what: 'the coins that will be deleted', figure: Math.max(0, ledger.balance) },
      act: () => deleted(accountId, ledger, services),
    };
  },
});

type Ledger = Awaited<ReturnType<typeof ledgerEnds>>;

async function contentOf({ accountId, fields, standing }: FoundAccount, { balance, entries }: Ledger, { scripts }: OperatorServices) {
  const games = await read(scripts, 'SMEMBERS', boardKeys.ofAccount(accountId));
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
    return refuse('account_not_found', { message: 'The account has just moved into another account: find it again.' });
  }
  return { accountId, ...shownBalance(balance) };
}
