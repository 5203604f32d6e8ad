import { standingChanges, standingLibrary } from '../../accounts/standing.ts';
import { z } from 'zod';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { SESSION_LIFE_MS, sessionLibrary } from '../../accounts/session-list.ts';
import { Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { Reply } from '../../server/http/endpoint.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { clearedSessionCookie } from '../../server/identity/sessions.ts';
import { endpoint, type Services } from '../../declare.ts';

export const signOut = defineScript({
  file: new URL('sign-out.lua', import.meta.url),
  keys: ['ended'],
  args: ['lifeSeconds'],
  answers: ['signed_out'],
  durable: true,
  library: sessionLibrary,
});

export const signOutEverywhere = defineScript({
  file: new URL('sign-out-everywhere.lua', import.meta.url),
  keys: [],
  args: [],
  answers: ['signed_out'],
  durable: true,
  prologue: checksCaller,
  library: standingChanges,
});

export const signOutBanned = defineScript({
  file: new URL('sign-out-banned.lua', import.meta.url),
  keys: ['standing', 'ended'],
  args: [],
  answers: ['signed_out'],
  durable: true,
  library: [standingLibrary, standingChanges],
});

export const logout = endpoint({
  method: 'POST',
  path: '/v1/logout',
  operationId: 'logout',
  // An ended session gets 200, like any other session.
  caller: 'any',
  summary: 'Signs out: the session ends on every process at once.',
  description:
    'Without a session, and with an invalid one, the answer is 200 as well. The same cookie sent again counts as no session, and the same ' +
    'bearer is refused. The connections of the session in rooms become watchers. A request with a bearer ends its session alone and clears no cookie. With `everywhere:true` all sessions of ' +
    'the account end, including those of paired browsers and of pairings that were claimed but not handed over. After that an installId, ' +
    'or a sign-in with the app store, starts new sessions.',
  body: z.object({
    everywhere: z.boolean().optional().meta({ description: '`true`: end all sessions of the account, not just this one.' }),
  }),
  emptyBody: true,
  reply: z.object({}),
  example: `curl -s -X POST $base/v1/logout -b cookies.txt -H 'content-type: application/json'`,
  async handle({ caller, body, meta }, { scripts, sessions }: Pick<Services, 'scripts' | 'sessions'>) {
    const signedOut = new Reply({}, { cookies: meta.hasBearer ? [] : clearedSessionCookie(meta.cookieScope) });
    if (caller?.session === undefined) return signedOut;
    // Runs as the caller, so that an ended session cannot end the others.
    if (body.everywhere === true) await endSessions(caller, scripts);
    // The mark lives a cookie's whole life: a renewed cookie has the same session id and may have been issued just now.
    else await scripts.run(signOut, { ended: caller.signedOutKey! }, { lifeSeconds: SESSION_LIFE_MS / 1000 });
    sessions.markEnded(caller.session);
    return signedOut;
  },
});

/** A banned user signs out everywhere too: the sessions would open the account again when the ban ends. */
async function endSessions(caller: Caller, scripts: CallerScripts): Promise<void> {
  try {
    await scripts.runAs(caller, signOutEverywhere, {}, {});
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'account_banned') throw error;
    await scripts.run(signOutBanned, { standing: caller.standingKey, ended: caller.signedOutKey! }, {});
  }
}
