import { hash } from 'node:crypto';

/**
 * The id of a purchase in Redis keys and logs: 132 bits of the SHA-256 of its token. The token itself is a secret, with which any account
 * could claim the purchase.
 */
export function purchaseHash(token: string): string {
  return hash('sha256', `coinop:purchase:${token}`, 'base64url').slice(0, 22);
}
