import { hash } from 'node:crypto';
import { z } from 'zod';

/** 132 bits of the token's SHA-256, for keys and logs. The token itself is a secret: it claims the purchase for an account. */
export function purchaseHash(token: string): string {
  return hash('sha256', `coinop:purchase:${token}`, 'base64url').slice(0, 22);
}

/**
 * The token becomes a path segment of a Google Play Developer API URL. Percent-encoding leaves `.` and `..` as they are and URL parsers
 * resolve them, so such a token would request another path, whose answer would look like an outage of the app store.
 */
export const PurchaseToken = z
  .string()
  .regex(/^(?!\.{1,2}$)[\x21-\x7e]{1,1024}$/, 'Must be 1 to 1024 visible ASCII characters')
  .meta({ description: 'The purchase token that the app store gave to the app.' });
