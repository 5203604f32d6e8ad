import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { AccountId, OptionalInstallId } from '../../accounts/ids.ts';
import { openAccount } from '../../accounts/account.ts';
import { HandedToken, handOver, SessionForm, type SessionServices } from './model.ts';

export const login = endpoint({
  method: 'POST',
  path: '/v1/login',
  operationId: 'login',
  aliases: ['/login'],
  caller: 'install',
  summary: 'Signs in with an installId, and sets the session cookie svc_session or answers with the session token.',
  description:
    'The installId is the credential. A session lives 30 days. Past half its life a request renews the cookie, and `GET /v1/session` hands ' +
    'out a new token. An install that moved into a store account has to sign in with the app store (401 `sign_in_required`).',
  body: z.object({ installId: OptionalInstallId, session: SessionForm }),
  reply: z.object({ accountId: AccountId, expiresAt: z.iso.datetime(), sessionToken: HandedToken }),
  creates: true,
  example: `curl -s $base/v1/login -c cookies.txt -H 'content-type: application/json' -d '{"installId":"install-0001"}'`,
  async handle({ caller, body, meta }, { scripts, sessions }: SessionServices) {
    const { accountId } = caller;
    const [, generation = ''] = await scripts.runAs(caller, openAccount, {}, {});
    const session = sessions.start({ accountId, generation, kind: 'login' });
    return handOver({ accountId, expiresAt: new Date(session.expiresAt).toISOString() }, session, body.session, meta);
  },
});
