import { z } from 'zod';
import { Reply } from '../../server/http/endpoint.ts';
import { endpoint } from '../../declare.ts';
import { sessionCookie } from '../../server/identity/sessions.ts';
import { AccountId, InstallId } from '../../accounts/ids.ts';
import { openAccount } from '../../accounts/account.ts';

export const login = endpoint({
  method: 'POST',
  path: '/v1/login',
  aliases: ['/login'],
  caller: 'install',
  summary: 'Signs in with an installId, and sets the session cookie svc_session.',
  description:
    'The installId is the credential. The cookie lives 30 days; a request past half its life renews it. An install that moved into a store ' +
    'account has to sign in with the app store (401 `sign_in_required`).',
  body: z.object({ installId: InstallId }),
  reply: z.object({ accountId: AccountId, expiresAt: z.iso.datetime() }),
  creates: true,
  example: `curl -s $base/v1/login -c cookies.txt -H 'content-type: application/json' -d '{"installId":"install-0001"}'`,
  async handle({ caller, meta }, { scripts, sessions }) {
    const { accountId } = caller;
    const [, generation = ''] = await scripts.runAs(caller, openAccount, {}, {});
    const { token, expiresAt } = await sessions.start({ accountId, generation });
    return new Reply({ accountId, expiresAt: new Date(expiresAt).toISOString() }, { cookies: [sessionCookie(token, meta.secureCookies)] });
  },
});
