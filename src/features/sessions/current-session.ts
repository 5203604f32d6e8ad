import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { AccountId } from '../../accounts/ids.ts';
import { readFields } from '../../accounts/account.ts';

export const session = endpoint({
  method: 'GET',
  path: '/v1/session',
  caller: 'optional',
  summary: 'Tells whether the session cookie is valid, and for which account.',
  reply: z.object({
    authenticated: z.boolean(),
    accountId: AccountId.optional(),
    expiresAt: z.iso.datetime().optional(),
    installVerified: z.boolean().optional().meta({ description: 'Whether an install of this account was proven genuine.' }),
  }),
  example: `curl -s $base/v1/session -b cookies.txt`,
  async handle({ caller }, services) {
    if (caller?.session === undefined) return { authenticated: false };
    const { installVerifiedAt } = await readFields(caller, ['installVerifiedAt'], services);
    return {
      authenticated: true,
      accountId: caller.accountId,
      expiresAt: new Date(caller.session.expiresAt).toISOString(),
      installVerified: installVerifiedAt !== '',
    };
  },
});
