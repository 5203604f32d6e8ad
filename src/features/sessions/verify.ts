import type { SessionServices } from './model.ts';
import { z } from 'zod';
import { credentialWord } from '../../accounts/account.ts';
import { AccountId } from '../../accounts/ids.ts';
import { endpoint, type Services } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import { callerFrom } from '../../server/identity/caller.ts';
import type { Session } from '../../server/identity/sessions.ts';

export const verifySession = endpoint({
  method: 'POST',
  path: '/v1/sessions/verify',
  operationId: 'verifySession',
  // The token of the session to check is in the body. A session in the request's own headers is ignored.
  caller: 'none',
  keyScope: 'accounts:read',
  reach: 'accounts',
  summary: "Tells a game server whose session a token is: the account's id and the end of the session.",
  description:
    'A game sends its `sessionToken` to its own server, and that server asks here. `authenticated:false` stands for every token that opens ' +
    'nothing: no token of this service, expired, signed out, of a guest that moved into a store account, or of an account that is banned or ' +
    'deleted. A session of the request itself does not count. Without a server key and without SESSION_VERIFY=on it is 403 `server_only`. ' +
    'The token is a secret: keep it out of your logs.',
  body: z.object({
    sessionToken: z.string().meta({ description: 'The token to check, which may be any text. A cookie svc_session has the same token.' }),
  }),
  reply: z.object({
    authenticated: z.boolean(),
    accountId: AccountId.optional(),
    expiresAt: z.iso
      .datetime()
      .optional()
      .meta({ description: 'The time at which this token ends. The player may have a later token of the session.' }),
  }),
  errors: ['server_only'],
  example: `curl -s $base/v1/sessions/verify -H 'content-type: application/json' -d '{"sessionToken":"token-of-a-player"}'`,
  async handle({ body: { sessionToken }, key, meta }, services: Pick<Services, 'config' | 'sessions' | 'scripts'>) {
    if (key === undefined && services.config.SESSION_VERIFY === 'off')
      return refuse('server_only', { message: 'SESSION_VERIFY is off, so this needs a server key with the scope accounts:read.' });
    const session = services.sessions.find(sessionToken);
    if (session === undefined || !(await isOpen(session, meta, services))) return { authenticated: false };
    return { authenticated: true, accountId: session.accountId, expiresAt: new Date(session.expiresAt).toISOString() };
  },
});

/** Checks in Redis that the session has not ended and that its account is open. */
async function isOpen(session: Session, client: { readonly address: string }, { scripts, sessions }: SessionServices): Promise<boolean> {
  const word = await credentialWord(callerFrom(client, session.accountId, session, undefined), scripts);
  if (word === 'session_ended') sessions.markEnded(session);
  return word === 'open';
}
