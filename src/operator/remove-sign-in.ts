import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { Refusal } from '../errors.ts';
import { readListed } from '../features/sign-in/listed.ts';
import { removeSignInOf } from '../features/sign-in/remove.ts';
import { uncheckedOperatorFor } from '../server/identity/caller.ts';
import { nameOfProvider } from '../stores/openid/provider-table.ts';
import { followed } from './account-facts.ts';
import { Account } from './named-accounts.ts';
import { operation, Reason } from './operation.ts';

export const removeSignIn = operation({
  name: 'accounts remove-sign-in',
  method: 'POST',
  path: '/v1/admin/accounts/{accountId}/remove-sign-in',
  words: ['signIn'],
  operationId: 'removeSignInOfAccount',
  title: 'Remove',
  role: 'support',
  summary: 'Removes a sign-in from an account, with its sessions.',
  description:
    'The ids are in `signIns` of the account. For a user whose account with a provider was taken over. The pairings that the sessions of the ' +
    'sign-in claimed end too, and so do store sessions of earlier versions. Used later, the sign-in opens an account anew. The last sign-in ' +
    'of an account stays: ban the account, or delete it.',
  input: z.object({
    accountId: Account,
    signIn: z
      .string()
      .regex(/^[\w-]{22}$/, 'Must be the id of a sign-in')
      .meta({ example: 'mH0zQ3bXv5nYtZ8cXw0aLp' }),
    reason: Reason,
  }),
  reply: z.object({ accountId: AccountId }),
  errors: ['account_not_found', 'account_deleted', 'sign_in_not_found', 'last_sign_in'],
  example:
    `curl -s $base/v1/admin/accounts/BQ5v1mHk2nYtZ8cXw0aLpR/remove-sign-in -H "authorization: Bearer $COINOP_KEY" ` +
    `-H 'content-type: application/json' -d '{"signIn":"mH0zQ3bXv5nYtZ8cXw0aLp","reason":"stolen mail account, ticket 4711"}'`,
  shown: ({ accountId }) => [`This sign-in of ${accountId} is removed.`],
  async prepare({ accountId: asked, signIn, reason }, services) {
    const account = await followed(asked, services);
    if (account instanceof Refusal) return account;
    const { accountId } = account;
    const operator = uncheckedOperatorFor(accountId);
    const { listed } = await readListed(operator, services);
    const provider = nameOfProvider(listed.find(({ id }) => id === signIn)?.provider ?? '-', services.config);
    return {
      question: `Remove the sign-in ${signIn} (${provider}) from the account ${accountId}? Reason: ${reason}`,
      what: { account: accountId, signIn },
      why: reason,
      async act() {
        await removeSignInOf(operator, { id: signIn, provider }, services);
        return { accountId };
      },
    };
  },
});
