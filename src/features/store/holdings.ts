import { z } from 'zod';
import type { Holding } from '../../accounts/holdings.ts';
import { heldFields, isoTime, kindOf } from '../../accounts/fields.ts';
import { moveAuditor } from './move-auditor.ts';

/** The app store of a store account, the proof of an install, and the words about moves into the account. */
export const storeHolding = {
  name: 'store',
  fields: [heldFields('own', 'store'), heldFields('later', 'installVerifiedAt')],
  keys: [
    { name: /move:([^:]+)/, type: 'string', whenMoved: 'stays', whenDeleted: 'stays' },
    { name: /move:([^:]+):(ledger)/, type: 'list', whenMoved: 'stays', whenDeleted: 'stays' },
    { name: /move:([^:]+):(index:\d+)/, type: 'hash', whenMoved: 'stays', whenDeleted: 'stays' },
  ],
  shown: {
    shape: { kind: z.enum(['guest', 'store']), installVerifiedAt: z.iso.datetime().optional() },
    show: ({ fields }) => ({
      kind: kindOf(fields),
      installVerifiedAt: isoTime(fields['installVerifiedAt']),
    }),
  },
  auditors: () => [moveAuditor],
} satisfies Holding;
