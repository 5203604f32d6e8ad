import { z } from 'zod';
import { invalid } from '../../../errors.ts';
import { FIRST_STORE, proofFields, rowOf, STORE_NAMES, type StoreName } from '../../../stores/stores.ts';

/** The fields of a request that prove a purchase. */
export const proofShape = {
  store: z.enum(STORE_NAMES),
  ...proofFields,
};

export interface Proof {
  readonly store: StoreName;
  /** The field of the request. */
  readonly field: string;
  readonly text: string;
  /**
   * Whether the proof is not a secret. With such a proof, a caller can only claim a purchase for which the app named the caller to the
   * store.
   */
  readonly isOpen: boolean;
}

/** Finds the proof in a request. @throws Refusal `invalid_request` */
export function proofIn(body: { readonly store?: StoreName | undefined; readonly [field: string]: unknown }): Proof {
  const { store = FIRST_STORE } = body;
  const { proofs, openProofs = [] } = rowOf(store);
  const fields = Object.keys(proofs);
  const field = fields.find((name) => body[name] !== undefined);
  if (field === undefined) throw invalid(fields[0]!, 'Must be there for this store');
  return { store, field, text: body[field] as string, isOpen: openProofs.includes(field) };
}
