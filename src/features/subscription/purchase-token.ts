import { hash } from 'node:crypto';

/** 132 bits of the token's SHA-256, for keys and logs. The token itself is a secret: it claims the purchase for an account. */
export function purchaseHash(token: string): string {
  return hash('sha256', `coinop:purchase:${token}`, 'base64url').slice(0, 22);
}
