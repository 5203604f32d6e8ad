import { z } from 'zod';
import { endpoint } from '../../services.ts';
import { AccountId } from '../accounts/model.ts';
import { sessionCheck } from './model.ts';

export const session = endpoint({
  method: 'GET',
  path: '/v1/session',
  caller: 'optional',
  summary: 'Tells whether the session cookie stands, and whose it is.',
  reply: z.object({ authenticated: z.boolean(), accountId: AccountId.optional(), expiresAt: z.iso.datetime().optional() }),
  example: `curl -s $base/v1/session -b cookies.txt`,
  async handle({ caller }, { scripts }) {
    if (caller?.session === undefined) return { authenticated: false };
    await scripts.runAs(caller, sessionCheck, {}, {});
    return { authenticated: true, accountId: caller.accountId, expiresAt: new Date(caller.session.expiresAt).toISOString() };
  },
});
