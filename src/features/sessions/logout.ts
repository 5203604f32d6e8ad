import { z } from 'zod';
import { defineScript } from '../../redis/script.ts';
import { Reply } from '../../server/endpoint.ts';
import { clearedSessionCookie, SESSION_LIFE_MS } from '../../server/sessions.ts';
import { endpoint } from '../../services.ts';

const signOut = defineScript({
  file: new URL('sign-out.lua', import.meta.url),
  keys: ['ended'],
  args: ['lifeSeconds'],
  answers: ['signed_out'],
});

export const logout = endpoint({
  method: 'POST',
  path: '/v1/logout',
  caller: 'optional',
  summary: 'Signs out: the session ends on every process at once.',
  description: 'Without a session it is 200 as well. The same cookie sent again counts as no session.',
  body: z.object({}),
  emptyBody: true,
  reply: z.object({}),
  example: `curl -s -X POST $base/v1/logout -b cookies.txt -H 'content-type: application/json'`,
  async handle({ caller, meta }, { scripts, sessions }) {
    if (caller?.session === undefined) return new Reply({}, { cookies: [clearedSessionCookie(meta.secureCookies)] });
    // A renewed cookie carries the same session id and may live a whole life from now.
    await scripts.run(signOut, { ended: caller.signedOutKey! }, { lifeSeconds: SESSION_LIFE_MS / 1000 });
    sessions.forget(caller.session);
    return new Reply({}, { cookies: [clearedSessionCookie(meta.secureCookies)] });
  },
});
