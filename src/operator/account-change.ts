import { followed, type FoundAccount } from './account-facts.ts';
import { Account } from './named-accounts.ts';
import { Reason } from './operation.ts';
import { changesOf } from './subject-change.ts';

/** Declares a change of an account. If the named account has moved, the account into which it moved is changed. */
export const accountChange = changesOf({
  group: 'accounts',
  field: 'accountId',
  shape: Account,
  sample: 'BQ5v1mHk2nYtZ8cXw0aLpR',
  reason: Reason,
  errors: ['account_not_found', 'account_deleted'],
  find: followed,
  what: ({ accountId }: FoundAccount) => ({ account: accountId }),
  // The account may move while the operator is answering the question. `what` names the account as it was before the move.
  noted: (asked: FoundAccount, { accountId }: { readonly accountId: string }) => ({
    movedTo: accountId === asked.accountId ? undefined : accountId,
  }),
});
