import type { SessionServices } from './model.ts';
import { z } from 'zod';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { signedOutKey } from '../../accounts/account-keys.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { SESSION_LIFE_MS, sessionLibrary, sessionsKey } from '../../accounts/session-list.ts';
import { endpoint } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { Reply, Unchecked } from '../../server/http/endpoint.ts';
import { clearedSessionCookie } from '../../server/identity/sessions.ts';

export const endScript = defineScript({
  file: new URL('end.lua', import.meta.url),
  keys: ['sessions', 'ended'],
  args: ['id', 'isOwn', 'lifeSeconds'],
  answers: ['ended', 'session_not_found'],
  durable: true,
  prologue: checksCaller,
  library: sessionLibrary,
});

/** The format of a session's id: `<generation>.<random>`. Session ids that early versions of the service made have only the random part. */
export const SESSION_ID = /^(?:\d{1,15}\.)?[\w-]{1,32}$/;

export const endSession = endpoint({
  method: 'POST',
  path: '/v1/sessions/end',
  operationId: 'endSession',
  caller: 'required',
  summary: "Ends one session of the caller's account, on every process at once.",
  description:
    'The `id` is that of `GET /v1/sessions`. The connections of the session in rooms become watchers, with the error `session_required`. To end the ' +
    "request's own session is a logout: the answer says `current:true`, and clears the cookie. To end a session again is 200. A session from a " +
    'pairing ends only itself: another id is 403 `forbidden`. `POST /v1/logout` with `everywhere:true` ends all of them.',
  body: z.object({
    id: z.string().meta({ description: 'The `id` of the session.', example: '0.Zl8yqvJ0c3T1mXbN' }),
    installId: OptionalInstallId,
  }),
  reply: z.object({ current: z.boolean().meta({ description: 'Whether the ended session was the session of this request.' }) }),
  errors: ['session_not_found', 'forbidden'],
  example:
    `curl -s $base/v1/sessions/end -b cookies.txt -H 'content-type: application/json' ` +
    `-d "{\\"id\\":\\"$(curl -s $base/v1/sessions -b cookies.txt | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')\\"}"`,
  async handle({ caller, body: { id }, meta }, { scripts, sessions }: SessionServices) {
    const { accountId, session } = caller;
    if (!SESSION_ID.test(id)) return new Unchecked(refuse('session_not_found'));
    const current = session?.id === id;
    if (session?.kind === 'pairing' && !current)
      return new Unchecked(
        refuse('forbidden', {
          message: 'A session from a pairing can end only itself. End other sessions on the device where the account signed in.',
        }),
      );
    const keys = { sessions: sessionsKey(accountId), ended: signedOutKey(accountId, id) };
    const [word] = await scripts.runAs(caller, endScript, keys, { id, isOwn: current ? 1 : 0, lifeSeconds: SESSION_LIFE_MS / 1000 });
    if (word === 'session_not_found') return refuse(word);
    if (!current) return { current };
    sessions.markEnded(session);
    return new Reply({ current }, { cookies: meta.hasBearer ? [] : clearedSessionCookie(meta.cookieScope) });
  },
});
