import { z } from 'zod';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { listedSessions, MOST_SESSIONS, USER_AGENT_LIMIT, type ListedSession } from '../../accounts/session-list.ts';
import { endpoint, type ScriptServices } from '../../declare.ts';
import type { Session } from '../../server/identity/sessions.ts';
import { SignedInBrowser, signedInBrowser } from './model.ts';

export const listSessions = endpoint({
  method: 'GET',
  path: '/v1/sessions',
  operationId: 'listSessions',
  caller: 'required',
  summary: "The sessions of the caller's account: its signed-in browsers.",
  description:
    `Newest first, at most ${MOST_SESSIONS}. Listed are the sessions of pairings and of sign-ins with the app store, and the session of this request. Other ` +
    'sessions of `POST /v1/login` are not listed, because a login writes nothing: `POST /v1/logout` with `everywhere:true` ends them too. ' +
    `An account has at most ${MOST_SESSIONS} listed sessions. One more ends the oldest of its kind, but sooner one of a ` +
    'pairing that was claimed with the session of another pairing. A session from a pairing that an earlier version started is ' +
    'listed once it has asked `GET /v1/session`. `POST /v1/sessions/end` ends one.',
  query: z.object({ installId: OptionalInstallId }),
  reply: z.object({ sessions: z.array(SignedInBrowser) }),
  example: `curl -s $base/v1/sessions -b cookies.txt`,
  async handle({ caller, meta }, services: ScriptServices) {
    const listed = await listedSessions(caller, services);
    const { session } = caller;
    const others = listed.filter(({ id }) => id !== session?.id).toSorted(newestFirst);
    if (session === undefined) return { sessions: others.slice(0, MOST_SESSIONS).map((other) => signedInBrowser(other, false)) };
    const own = listed.find(({ id }) => id === session.id) ?? unlisted(session, meta.userAgent, services.now());
    const browsers = [own, ...others.slice(0, MOST_SESSIONS - 1)].toSorted(newestFirst);
    return { sessions: browsers.map((browser) => signedInBrowser(browser, browser === own)) };
  },
});

function newestFirst(one: ListedSession, other: ListedSession): number {
  return other.createdAt - one.createdAt;
}

/**
 * Makes an entry for the request's own session, from its token and the request, if the list does not have it. `createdAt` may be too late,
 * because a renewed token does not say when its session began.
 */
function unlisted({ id, kind, issuedAt, expiresAt }: Session, userAgent: string, now: number): ListedSession {
  return {
    id,
    kind,
    signIn: undefined,
    createdAt: issuedAt,
    lastSeenAt: now,
    endsAt: expiresAt,
    userAgent: userAgent.slice(0, USER_AGENT_LIMIT),
  };
}
