import { z } from 'zod';
import { MAX_TOKEN_LENGTH } from '../../server/identity/signed-token.ts';

/** A session's token: what the cookie svc_session holds, for clients without cookies. */
export const SessionToken = z
  .string()
  .max(MAX_TOKEN_LENGTH, { error: `Must have at most ${MAX_TOKEN_LENGTH} characters`, abort: true })
  .regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, { error: 'Must be a sessionToken of this service' })
  .meta({ description: 'The token of a session: a bearer secret, for `Authorization: Bearer` and for `hello`.' });
