import type { SessionServices } from './model.ts';
import { standingChanges, standingLibrary } from '../../accounts/standing.ts';
import { z } from 'zod';
import { credentialWord } from '../../accounts/account.ts';
import { SessionEnded, type CallerScripts } from '../../accounts/caller-scripts.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { SESSION_LIFE_MS, sessionLibrary } from '../../accounts/session-list.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { refuse, Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { bearerToken } from '../../server/identity/bearer.ts';
import { cookieValue } from '../../server/identity/cookies.ts';
import { Reply, type RequestMeta } from '../../server/http/endpoint.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { clearedSessionCookie, SESSION_COOKIE, type Sessions } from '../../server/identity/sessions.ts';
import { endpoint } from '../../declare.ts';

/** Ends one session, for every process at once: from then on every script that checks its caller refuses this session. */
export const signOut = defineScript({
  name: 'sessions/sign-out',
  lua: `end_session(ended, life_seconds)
    return {'signed_out'}`,
  keys: ['ended'],
  args: ['lifeSeconds'],
  answers: ['signed_out'],
  durable: true,
  library: sessionLibrary,
});

/**
 * Ends all sessions of the caller's account, for every process at once. An account that does not exist has no sessions, and a sign-out must
 * not create a record of the account.
 */
export const signOutEverywhere = defineScript({
  name: 'sessions/sign-out-everywhere',
  lua: `if redis.call('EXISTS', account) == 0 then return {'none'} end
    end_sessions(standing)
    return {'signed_out'}`,
  keys: ['account'],
  answers: ['signed_out', 'none'],
  durable: true,
  prologue: checksCaller,
  library: standingChanges,
});

export const signOutBanned = defineScript({
  file: new URL('sign-out-banned.lua', import.meta.url),
  keys: ['standing', 'ended'],
  args: ['isSession'],
  answers: ['signed_out'],
  durable: true,
  library: [standingLibrary, standingChanges],
});

export const logout = endpoint({
  method: 'POST',
  path: '/v1/logout',
  operationId: 'logout',
  // With this rule an ended session is not refused, but gets 200 as any other session does.
  caller: 'any',
  summary: 'Signs out: the session ends on every process at once.',
  description:
    'Without a session, and with an invalid one, the answer is 200 as well. The same cookie sent again counts as no session, and the same ' +
    'bearer is refused. The connections of the session in rooms become watchers. A request with a bearer ends its session alone and clears no cookie. With `everywhere:true` all sessions of ' +
    'the account end, including those of paired browsers and of pairings that were claimed but not handed over. After that an installId, ' +
    'or a sign-in with the app store, starts new sessions. Without a session the installId names the account; one that was never seen, or ' +
    'that moved into a store account, is 200 and ends nothing. With neither it is 401 `identity_required`; a session that has ended already is 200. A session from a pairing ends ' +
    'only itself: with `everywhere` it is 403 `forbidden`.',
  body: z.object({
    installId: OptionalInstallId.meta({ description: 'With `everywhere`, where the request has no session: names the account.' }),
    everywhere: z.boolean().optional().meta({ description: '`true`: end all sessions of the account, not just this one.' }),
  }),
  emptyBody: true,
  reply: z.object({}),
  errors: ['identity_required', 'forbidden'],
  example: `curl -s -X POST $base/v1/logout -b cookies.txt -H 'content-type: application/json'`,
  async handle({ caller, body, meta }, { scripts, sessions }: SessionServices) {
    const signedOut = new Reply({}, { cookies: meta.hasBearer ? [] : clearedSessionCookie(meta.cookieScope) });
    const session = caller?.session;
    if (body.everywhere === true) {
      if (caller === undefined) return hasEnded(meta, sessions) ? signedOut : refuse('identity_required');
      if (session?.kind === 'pairing') {
        // If the session has ended, the pipeline repeats a request that sent it in a cookie, without the session, and refuses a request
        // that sent it as a bearer token.
        if ((await credentialWord(caller, scripts)) === 'session_ended') throw new SessionEnded();
        return refuse('forbidden', { message: ENDS_ONLY_ITSELF, field: 'everywhere' });
      }
      await endSessions(caller, scripts);
    }
    // The key that marks the session as ended stays for the whole life of a cookie, because a renewed cookie has the same session id, and
    // may have been issued a moment ago.
    else if (session !== undefined) await scripts.run(signOut, { ended: caller!.signedOutKey! }, { lifeSeconds: SESSION_LIFE_MS / 1000 });
    if (session !== undefined) sessions.markEnded(session);
    return signedOut;
  },
});

/** Whether the request has a token of an ended session. A client sends such a request if it lost the answer to its sign-out. */
function hasEnded({ authorization, cookie }: RequestMeta, sessions: Sessions): boolean {
  const token = bearerToken(authorization) ?? cookieValue(cookie, SESSION_COOKIE);
  return token !== undefined && sessions.isKnownToHaveEnded(token);
}

const ENDS_ONLY_ITSELF =
  'A session from a pairing can end only itself. Sign out without `everywhere`, or use the device that claimed the pairing.';

/**
 * Ends all sessions of the caller's account. The script runs for the caller, so that an ended session cannot end other sessions. A banned
 * user can end them too, because otherwise these sessions could be used again when the ban ends. A moved or deleted account has no sessions
 * left.
 * @throws SessionEnded
 */
async function endSessions(caller: Caller, scripts: CallerScripts): Promise<void> {
  try {
    await scripts.runAs(caller, signOutEverywhere, { account: caller.accountKey }, {});
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.code === 'sign_in_required' || error.code === 'account_deleted') return;
    if (error.code !== 'account_banned') throw error;
    const { standingKey: standing, signedOutKey } = caller;
    const isSession = signedOutKey === undefined ? 0 : 1;
    await scripts.run(signOutBanned, { standing, ended: signedOutKey ?? standing }, { isSession });
  }
}
