import { z } from 'zod';
import type { Holding } from '../../accounts/holdings.ts';
import { heldFields, kindOf } from '../../accounts/fields.ts';

/** The app store with which the account signs in. A guest has none. */
export const signInHolding = {
  name: 'sign-in',
  fields: [heldFields('own', 'store')],
  shown: { shape: { kind: z.enum(['guest', 'store']) }, show: ({ fields }) => ({ kind: kindOf(fields) }) },
} satisfies Holding;
