import { z } from 'zod';
import type { Holding } from '../../accounts/holdings.ts';
import { heldFields, kindOf } from '../../accounts/fields.ts';

/** The app store of an account that signs in there. */
export const signInHolding = {
  name: 'sign-in',
  fields: [heldFields('own', 'store')],
  shown: { shape: { kind: z.enum(['guest', 'store']) }, show: ({ fields }) => ({ kind: kindOf(fields) }) },
} satisfies Holding;
