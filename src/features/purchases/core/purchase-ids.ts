import { hash } from 'node:crypto';
import { FIRST_STORE, type StoreName } from '../../../stores/stores.ts';

const idOf = (text: string): string => hash('sha256', `coinop:${text}`, 'base64url').slice(0, 22);

/** The public id of a purchase of coins: 132 bits of a SHA-256. The store's own id may be a secret, and cannot be computed from it. */
export function purchaseIdOf(store: StoreName, id: string): string {
  return idOf(`product-purchase:${store}:${id}`);
}

/**
 * As `purchaseIdOf`, for a purchase of a subscription. The first store's ids are older than the other stores, and have no name of a store in
 * front. No id of the first store has a blank.
 */
export function purchaseHash(id: string, store: StoreName = FIRST_STORE): string {
  return idOf(`purchase:${store === FIRST_STORE ? '' : `${store} `}${id}`);
}
