import { z } from 'zod';
import { Reply, type RequestMeta } from '../../server/http/endpoint.ts';
import { sessionCookie, type StartedSession } from '../../server/identity/sessions.ts';
import { MAX_TOKEN_LENGTH } from '../../server/identity/signed-token.ts';

/** A session's token: what the cookie svc_session holds, for clients without cookies. */
export const SessionToken = z
  .string()
  .max(MAX_TOKEN_LENGTH, { error: `Must have at most ${MAX_TOKEN_LENGTH} characters`, abort: true })
  .regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, { error: 'Must be a sessionToken of this service' })
  .meta({ description: 'The token of a session: a bearer secret, for `Authorization: Bearer` and for `hello`.' });

/** How a client wants a new session. */
export const SessionForm = z
  .enum(['cookie', 'token'], 'Must be cookie or token')
  .default('cookie')
  .meta({
    description:
      '`token`: the answer has `sessionToken` and sets no session cookie, for clients without cookies and pages of other sites. ' +
      'A request with a bearer always gets the token.',
  });

/** The field of a reply that hands a session over. */
export const HandedToken = SessionToken.optional().meta({
  description: 'The token of the new session, if the request asked for it: a bearer secret, for `Authorization: Bearer` and for `hello`.',
});

/** The answer that hands a new session over: as the client asked, and never as a cookie to a request with a bearer. */
export function handOver<Body extends object>(
  body: Body,
  { token }: StartedSession,
  form: z.output<typeof SessionForm>,
  meta: RequestMeta,
): Reply<Body & { sessionToken?: string }> {
  if (form === 'token' || meta.hasBearer) return new Reply({ ...body, sessionToken: token });
  return new Reply(body, { cookies: sessionCookie(token, meta.cookieScope) });
}
