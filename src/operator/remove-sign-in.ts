import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { readListed } from '../features/sign-in/read-sign-ins.ts';
import { removeSignInOf } from '../features/sign-in/remove.ts';
import { uncheckedOperatorFor } from '../server/identity/caller.ts';
import { nameOfProvider } from '../stores/openid/provider-table.ts';
import { refuse } from '../errors.ts';
import { accountChange } from './account-change.ts';

export const removeSignIn = accountChange({
  verb: 'remove-sign-in',
  words: ['signIn'],
  operationId: 'removeSignInOfAccount',
  title: 'Remove the sign-in',
  role: 'support',
  summary: 'Removes a sign-in from an account, together with the sessions that it started.',
  description:
    'The ids are in `signIns` of the account. For a user whose account with a provider was taken over. The pairings that the sessions of the ' +
    'sign-in claimed end too, and so do store sessions of earlier versions. Used later, the sign-in opens an account anew. The last sign-in ' +
    'of an account stays: ban the account, or delete it.',
  fields: {
    signIn: z
      .string()
      .regex(/^[\w-]{22}$/, 'Must be the id of a sign-in')
      .meta({ example: 'mH0zQ3bXv5nYtZ8cXw0aLp' }),
  },
  reply: z.object({ accountId: AccountId }),
  errors: ['sign_in_not_found', 'last_sign_in'],
  body: { signIn: 'mH0zQ3bXv5nYtZ8cXw0aLp', reason: 'stolen mail account, ticket 4711' },
  shown: ({ accountId }) => [`This sign-in of ${accountId} is removed.`],
  async plan({ accountId }, { signIn }, services) {
    const operator = uncheckedOperatorFor(accountId);
    const { listed } = await readListed(operator, services);
    const found = listed.find(({ id }) => id === signIn);
    const provider = nameOfProvider(found?.provider ?? '-', services.config);
    const refusal = found === undefined ? refuse('sign_in_not_found') : listed.length === 1 ? refuse('last_sign_in') : undefined;
    return {
      question: `Remove the sign-in ${signIn} (${provider}) from the account ${accountId}?`,
      foreseen: refusal,
      what: { signIn },
      async act() {
        await removeSignInOf(operator, { id: signIn, provider }, services);
        return { accountId };
      },
    };
  },
});
