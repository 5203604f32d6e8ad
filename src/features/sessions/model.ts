import type { Services } from '../../declare.ts';
import { z } from 'zod';
import type { ListedSession } from '../../accounts/session-list.ts';
import { Reply, type RequestMeta } from '../../server/http/endpoint.ts';
import { sessionCookie, type StartedSession } from '../../server/identity/sessions.ts';
import { MAX_TOKEN_LENGTH } from '../../server/identity/signed-token.ts';

/** The services of endpoints that start, check or end sessions. */
export type SessionServices = Pick<Services, 'scripts' | 'sessions'>;

/** A session's token, for clients without cookies. The token is the same text as in the cookie svc_session. */
export const SessionToken = z
  .string()
  .max(MAX_TOKEN_LENGTH, { error: `Must have at most ${MAX_TOKEN_LENGTH} characters`, abort: true })
  .regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, { error: 'Must be a sessionToken of this service' })
  .meta({ description: 'The token of a session: a bearer secret, for `Authorization: Bearer` and for `hello`.' });

/** The form in which a client wants its new session: as a cookie or as a token. */
export const SessionForm = z
  .enum(['cookie', 'token'], 'Must be cookie or token')
  .default('cookie')
  .meta({
    description:
      '`token`: the answer has `sessionToken` and sets no session cookie, for clients without cookies and pages of other sites. ' +
      'A request with a bearer token always gets the token.',
  });

/** The field `sessionToken` of a reply with a new session. */
export const HandedToken = SessionToken.optional().meta({
  description: 'The token of the new session, if the request asked for it: a bearer secret, for `Authorization: Bearer` and for `hello`.',
});

/** Makes the answer with a new session, in the form that the client asked for. A request with a bearer token never gets a cookie. */
export function handOver<Body extends object>(
  body: Body,
  { token }: StartedSession,
  form: z.output<typeof SessionForm>,
  meta: RequestMeta,
): Reply<Body & { sessionToken?: string }> {
  if (form === 'token' || meta.hasBearer) return new Reply({ ...body, sessionToken: token });
  return new Reply(body, { cookies: sessionCookie(token, meta.cookieScope) });
}

/** A session, as the owner of its account sees it. */
export const SignedInBrowser = z
  .object({
    id: z.string().meta({ description: 'For `POST /v1/sessions/end`. It opens nothing.', example: '0.Zl8yqvJ0c3T1mXbN' }),
    kind: z.enum(['login', 'pairing', 'store']).meta({ description: '`store`: a sign-in with the app store.' }),
    createdAt: z.iso.datetime(),
    lastSeenAt: z.iso
      .datetime()
      .optional()
      .meta({ description: 'When the session last asked `GET /v1/session` or was renewed, to the hour. Other calls do not count.' }),
    userAgent: z.string().optional().meta({
      description: 'The User-Agent header as the browser sent it, at most 200 characters. It may be any text, so show it as plain text.',
    }),
    current: z.boolean().meta({ description: 'Whether this is the session of the request.' }),
  })
  .meta({
    id: 'SignedInBrowser',
    example: {
      id: '0.Zl8yqvJ0c3T1mXbN',
      kind: 'pairing',
      createdAt: '2026-11-22T12:00:00.000Z',
      lastSeenAt: '2026-11-23T08:00:00.000Z',
      userAgent: 'Mozilla/5.0',
      current: false,
    },
  });

/** A session, as operators see it. */
export const OperatorSession = SignedInBrowser.omit({ current: true })
  .extend({ expiresAt: z.iso.datetime().meta({ description: 'When it ends, unless it is renewed.' }) })
  .meta({
    id: 'OperatorSession',
    example: {
      id: '0.Zl8yqvJ0c3T1mXbN',
      kind: 'pairing',
      createdAt: '2026-11-22T12:00:00.000Z',
      lastSeenAt: '2026-11-23T08:00:00.000Z',
      userAgent: 'Mozilla/5.0',
      expiresAt: '2026-12-22T12:00:00.000Z',
    },
  });

export function operatorSession(session: ListedSession): z.input<typeof OperatorSession> {
  const { current: _, ...shown } = signedInBrowser(session, false);
  return { ...shown, expiresAt: new Date(session.endsAt).toISOString() };
}

export function signedInBrowser(session: ListedSession, current: boolean): z.input<typeof SignedInBrowser> {
  const { id, kind, createdAt, lastSeenAt, userAgent } = session;
  return {
    id,
    kind,
    createdAt: new Date(createdAt).toISOString(),
    lastSeenAt: new Date(lastSeenAt).toISOString(),
    ...(userAgent === '' ? {} : { userAgent }),
    current,
  };
}
