import { z } from 'zod';
import type { Holding, HoldingServices } from '../../accounts/holdings.ts';
import { heldFields, isoTime, kindOf } from '../../accounts/merge-rules.ts';
import { uncheckedOperatorFor } from '../../server/identity/caller.ts';
import { nameOfProvider } from '../../stores/openid/provider-table.ts';
import { readListed } from './read-sign-ins.ts';
import { signInAuditor } from './sign-in-auditor.ts';

const ListedSignIn = z
  .object({
    id: z.string(),
    provider: z.string().meta({ description: 'The name of the provider.', example: 'apple' }),
    at: z.iso.datetime().meta({ description: 'When the account got the sign-in.' }),
    lastUsedAt: z.iso.datetime(),
  })
  .meta({
    id: 'ListedSignIn',
    example: {
      id: 'mH0zQ3bXv5nYtZ8cXw0aLp',
      provider: 'apple',
      at: '2026-11-22T12:00:00.000Z',
      lastUsedAt: '2026-11-23T12:00:00.000Z',
    },
  });

async function listed(accountId: string, services: HoldingServices): Promise<z.input<typeof ListedSignIn>[]> {
  const { listed: found } = await readListed(uncheckedOperatorFor(accountId), services);
  return found.map(({ id, provider, addedAt, usedAt }) => {
    return { id, provider: nameOfProvider(provider, services.config), at: isoTime(addedAt)!, lastUsedAt: isoTime(usedAt)! };
  });
}

/** The sign-ins of the account: the providers with which its user signs in. A guest has none. */
export const signInHolding = {
  name: 'sign-in',
  // `signInLostAt`: the time at which the last sign-in of the account ended, because its user has no account with the provider any more.
  fields: [heldFields('own', 'store'), heldFields('own', 'signInLostAt')],
  keys: [
    { name: 'sign-ins', type: 'hash', life: 'lasts', whenMoved: 'goes', whenDeleted: 'goes' },
    { name: 'sign-in:ended', type: 'string', life: 'lasts', whenMoved: 'stays', whenDeleted: 'stays' },
    { name: /sign-in:nonce:[0-9a-f]{64}/, type: 'string', life: 'ends', whenMoved: 'stays', whenDeleted: 'stays' },
  ],
  exported: {
    shape: {
      signIns: z
        .array(ListedSignIn)
        .optional()
        .meta({ description: 'The sign-ins of the account, if it has any. They are on the first page.' }),
    },
    async firstPage({ accountId }, services) {
      const signIns = await listed(accountId, services);
      return signIns.length === 0 ? {} : { signIns };
    },
  },
  shown: {
    shape: {
      kind: z.enum(['guest', 'store']),
      signIns: z.array(ListedSignIn),
      signInLostAt: z.iso.datetime().optional().meta({
        description: 'The time at which the account lost its last sign-in, because its user deleted the account with the provider.',
      }),
    },
    show: async ({ accountId, fields }, services) => ({
      kind: kindOf(fields),
      signIns: await listed(accountId, services),
      signInLostAt: isoTime(fields['signInLostAt']),
    }),
  },
  auditors: () => [signInAuditor],
} satisfies Holding;
