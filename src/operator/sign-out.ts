import { standingChanges, standingLibrary } from '../accounts/standing.ts';
import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { standingKey } from '../accounts/account-keys.ts';
import { runWhereItIs } from '../accounts/standing-look.ts';
import { refuse, Refusal } from '../errors.ts';
import { defineScript } from '../redis/script.ts';
import { followed, movedOn } from './account-facts.ts';
import { Account } from './find.ts';
import { operation, Reason, type OperatorParts } from './operation.ts';

const endSessions = defineScript({
  file: new URL('end-sessions.lua', import.meta.url),
  keys: ['standing'],
  args: [],
  answers: ['ended', 'moving', 'moved', 'deleted'],
  durable: true,
  library: [standingLibrary, standingChanges],
});

export const signOut = operation({
  name: 'accounts sign-out',
  method: 'POST',
  path: '/v1/admin/accounts/{accountId}/sign-out',
  operationId: 'signAccountOut',
  role: 'support',
  summary: 'Ends all sessions of an account, on every process at once.',
  description:
    'Those of paired browsers too. After that the installId, or a sign-in with the app store, starts new sessions: this does not lock ' +
    'an account.',
  input: z.object({ accountId: Account, reason: Reason }),
  reply: z.object({ accountId: AccountId, signOutsEverywhere: z.number().int() }),
  errors: ['account_not_found', 'account_deleted'],
  example:
    `curl -s $base/v1/admin/accounts/BQ5v1mHk2nYtZ8cXw0aLpR/sign-out -H "authorization: Bearer $COINOP_KEY" ` +
    `-H 'content-type: application/json' -d '{"reason":"lost phone, ticket 4711"}'`,
  async prepare({ accountId: asked, reason }, parts) {
    const account = await followed(asked, parts);
    if (account instanceof Refusal) return account;
    const { accountId } = account;
    return {
      question: `End all sessions of the account ${accountId}? Reason: ${reason}`,
      what: { account: accountId },
      why: reason,
      noted: (reply) => movedOn(accountId, reply),
      act: () => endAll(accountId, parts),
    };
  },
});

async function endAll(accountId: string, { scripts }: Pick<OperatorParts, 'scripts'>) {
  const ended = await runWhereItIs(accountId, scripts, (id) => scripts.run(endSessions, { standing: standingKey(id) }, {}));
  if (ended.word === 'deleted') return refuse('account_deleted');
  return { accountId: ended.accountId, signOutsEverywhere: Number(ended.figures[0]) };
}
