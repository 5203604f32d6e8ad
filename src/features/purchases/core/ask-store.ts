import { Refusal } from '../../../errors.ts';
import { appStoreUnavailable } from '../../../stores/store-refusals.ts';
import type { Answer, Sales, Sold } from '../../../stores/store.ts';

/** The `retryAfterMs` of the refusal when the store's API does not know a purchase yet, in milliseconds. */
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

/** Awaits a call to the store, for work in the background. @returns `failed` if the store does not answer */
export async function orFailed<Found>(asking: Promise<Found>): Promise<Found | 'failed'> {
  try {
    return await asking;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return 'failed';
  }
}

/**
 * Reads a purchase as `readSold` does, for work in the background.
 * @returns `failed`: the store does not answer, or its settings are missing
 */
export async function askStore<Purchase>(sales: Sales<Purchase> | undefined, { id, packageName }: Omit<Sold, 'sku'>) {
  return sales === undefined ? 'failed' : orFailed(readSold(sales, id, packageName));
}
