import { z } from 'zod';
import { endpoint, type ScriptServices } from '../../declare.ts';
import { AccountId } from '../../accounts/ids.ts';
import { readFields } from '../../accounts/account.ts';
import { noteSession } from '../../accounts/session-list.ts';

export const session = endpoint({
  method: 'GET',
  path: '/v1/session',
  operationId: 'getSession',
  caller: 'optional',
  summary: 'Tells whether the session is valid, and for which account.',
  description: 'Without a session the answer is `authenticated:false`. An invalid bearer is 401 `session_required`.',
  reply: z.object({
    authenticated: z.boolean(),
    accountId: AccountId.optional(),
    expiresAt: z.iso.datetime().optional().meta({ example: '2026-12-22T12:00:00.000Z' }),
    sessionToken: z.string().optional().meta({
      description:
        'A new token of the same session, which ends at `expiresAt`: to a request with a bearer past half its life. Keep it in place of the old one.',
    }),
    installVerified: z.boolean().optional().meta({ description: 'Whether an install of this account was proven genuine.' }),
  }),
  example: `curl -s $base/v1/session -b cookies.txt`,
  async handle({ caller, meta }, services: ScriptServices) {
    if (caller?.session === undefined) return { authenticated: false };
    // This endpoint renews only bearer tokens, because the pipeline renews cookies.
    const renewal = meta.hasBearer ? caller.session.renewal : undefined;
    // Both scripts are sent in one round trip.
    const [{ installVerifiedAt }] = await Promise.all([
      readFields(caller, ['installVerifiedAt'], services),
      noteSession(caller, meta.userAgent, services),
    ]);
    return {
      authenticated: true,
      accountId: caller.accountId,
      expiresAt: new Date((renewal ?? caller.session).expiresAt).toISOString(),
      ...(renewal === undefined ? {} : { sessionToken: renewal.token }),
      installVerified: installVerifiedAt !== '',
    };
  },
});
