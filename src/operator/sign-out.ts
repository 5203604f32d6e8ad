import { standingChanges, standingLibrary } from '../accounts/standing.ts';
import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { signedOutKey, standingKey } from '../accounts/account-keys.ts';
import { listedSessions, SESSION_LIFE_MS, sessionsKey } from '../accounts/session-list.ts';
import { runWhereItIs } from '../accounts/standing-reader.ts';
import { refuse } from '../errors.ts';
import { endScript, SESSION_ID } from '../features/sessions/end.ts';
import { read } from '../redis/reads.ts';
import { defineScript } from '../redis/script.ts';
import { uncheckedOperatorFor } from '../server/identity/caller.ts';
import { accountChange } from './account-change.ts';
import type { OperatorServices } from './operation.ts';

/**
 * Ends all sessions of an account, even if it is banned. Answers ended(generation of new sessions), moving, moved(account into which it
 * moved), deleted(time).
 */
const endSessions = defineScript({
  name: 'operator/end-sessions',
  lua: `local state, detail = standing_of(standing)
    if state ~= 'open' and state ~= 'banned' then return {state, detail} end
    return {'ended', end_sessions(standing)}`,
  keys: ['standing'],
  answers: ['ended', 'moving', 'moved', 'deleted'],
  durable: true,
  library: [standingLibrary, standingChanges],
});

export const signOut = accountChange({
  verb: 'sign-out',
  operationId: 'signAccountOut',
  title: 'Sign out everywhere',
  role: 'support',
  summary: 'Ends all sessions of an account at once, on every process.',
  description:
    'Those of paired browsers too. After that the installId, or a sign-in with the app store, starts new sessions: this does not lock ' +
    'an account.',
  reply: z.object({ accountId: AccountId, signOutsEverywhere: z.number().int() }),
  body: { reason: 'lost phone, ticket 4711' },
  shown: ({ accountId }) => [`All sessions of ${accountId} have ended.`],
  async plan({ accountId }, _, services) {
    return {
      question: `End all sessions of the account ${accountId}?`,
      act: () => endAll(accountId, services),
    };
  },
});

export const endSession = accountChange({
  verb: 'end-session',
  words: ['session'],
  operationId: 'endSessionOfAccount',
  title: 'End the session',
  role: 'support',
  summary: 'Ends one session of an account at once, on every process.',
  description:
    'The ids are in `sessions.listed` of the account. The connections of the session in rooms become watchers. Ending a session twice is 200. ' +
    'A login with an installId is not listed: `sign-out` ends it, with all others.',
  fields: {
    session: z.string().regex(SESSION_ID, 'Must be the id of a session').meta({ example: '0.Zl8yqvJ0c3T1mXbN' }),
  },
  reply: z.object({ accountId: AccountId }),
  errors: ['session_not_found'],
  body: { session: '0.Zl8yqvJ0c3T1mXbN', reason: 'lost laptop, ticket 4711' },
  shown: ({ accountId }) => [`This session of ${accountId} has ended.`],
  async plan({ accountId }, { session }, services) {
    const operator = uncheckedOperatorFor(accountId);
    const listed = (await listedSessions(operator, services)).find(({ id }) => id === session);
    const of = listed === undefined ? '' : ` (${listed.kind}, since ${new Date(listed.createdAt).toISOString()})`;
    const [hasEnded] = await read(services.scripts, 'EXISTS', signedOutKey(accountId, session));
    return {
      question: `End the session ${session}${of} of the account ${accountId}?`,
      foreseen: listed === undefined && hasEnded === '0' ? refuse('session_not_found') : undefined,
      what: { session },
      async act() {
        const keys = { sessions: sessionsKey(accountId), ended: signedOutKey(accountId, session) };
        const args = { id: session, isOwn: 0, lifeSeconds: SESSION_LIFE_MS / 1000 };
        const [word] = await services.scripts.runAs(operator, endScript, keys, args);
        return word === 'session_not_found' ? refuse(word) : { accountId };
      },
    };
  },
});

async function endAll(accountId: string, { scripts }: OperatorServices) {
  const ended = await runWhereItIs(accountId, scripts, (id) => scripts.run(endSessions, { standing: standingKey(id) }, {}));
  if (ended.word === 'deleted') return refuse('account_deleted');
  return { accountId: ended.accountId, signOutsEverywhere: Number(ended.figures[0]) };
}
