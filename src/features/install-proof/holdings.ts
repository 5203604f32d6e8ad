import { z } from 'zod';
import type { Holding } from '../../accounts/holdings.ts';
import { heldFields, isoTime } from '../../accounts/merge-rules.ts';

/** The time at which an install of the account was last proven genuine. */
export const installProofHolding = {
  name: 'install-proof',
  fields: [heldFields('later', 'installVerifiedAt')],
  shown: {
    shape: { installVerifiedAt: z.iso.datetime().optional() },
    show: ({ fields }) => ({ installVerifiedAt: isoTime(fields['installVerifiedAt']) }),
  },
} satisfies Holding;
