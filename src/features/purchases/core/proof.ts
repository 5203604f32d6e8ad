import { z } from 'zod';
import { invalid, Refusal } from '../../../errors.ts';
import { appStoreUnavailable } from '../../../stores/store-outage.ts';
import type { Answer, Sales, Sold } from '../../../stores/store.ts';
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
  /** Whether the proof is no secret. It then claims only a purchase for which the app named the caller to the store. */
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

/** The `retryAfterMs` of the refusal of a purchase that the store's API does not know yet, in milliseconds. */
const NOT_YET_MS = 5000;

/**
 * Reads a purchase from the store.
 * @throws Refusal `app_store_unavailable`, also while the store's API does not know the purchase yet
 */
export async function readSold<Purchase>(
  sales: Sales<Purchase>,
  ...asked: Parameters<Sales<Purchase>['read']>
): Promise<Exclude<Answer<Purchase>, 'not_yet'>> {
  const answer = await sales.read(...asked);
  if (answer === 'not_yet') throw appStoreUnavailable(NOT_YET_MS);
  return answer as Exclude<Answer<Purchase>, 'not_yet'>;
}

/** For work in the background. @returns `failed` if the store does not answer */
export async function orFailed<Found>(asking: Promise<Found>): Promise<Found | 'failed'> {
  try {
    return await asking;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return 'failed';
  }
}

/** As `readSold`, for work in the background. @returns `failed`: the store does not answer, or its settings are missing */
export async function askStore<Purchase>(sales: Sales<Purchase> | undefined, { id, packageName }: Omit<Sold, 'sku'>) {
  return sales === undefined ? 'failed' : orFailed(readSold(sales, id, packageName));
}
