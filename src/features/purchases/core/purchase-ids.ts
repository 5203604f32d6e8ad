import { hash } from 'node:crypto';
import { FIRST_STORE, type StoreName } from '../../../stores/stores.ts';

const idOf = (text: string): string => hash('sha256', `coinop:${text}`, 'base64url').slice(0, 22);

/**
 * The public id of a purchase of coins: 132 bits of a SHA-256. The store's own id may be a secret, and cannot be computed from the public
 * id.
 */
export function purchaseIdOf(store: StoreName, id: string): string {
  return idOf(`product-purchase:${store}:${id}`);
}

/**
 * The public id of a purchase of a subscription. Like `purchaseIdOf`, it is a hash of the store's own id. The name of the store is hashed
 * too, except for the first store, whose purchases are older than the other stores. No id of the first store has a blank.
 */
export function purchaseHash(id: string, store: StoreName = FIRST_STORE): string {
  return idOf(`purchase:${store === FIRST_STORE ? '' : `${store} `}${id}`);
}
