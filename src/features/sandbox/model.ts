import { randomBytes } from 'node:crypto';
import { z } from 'zod';

export const sandboxRedisKeys = {
  keys: '{sandbox:keys}',
  /** A hash: `issued` (JSON of IssuedSubscription) and, once it was acknowledged, `acknowledgedAt`. */
  subscription: (purchaseToken: string) => `{sandbox:subscription:${purchaseToken}}`,
};

/** https://developer.android.com/build/configure-app-module#set-application-id */
export const PackageName = z
  .string()
  .max(150, 'Must be at most 150 characters')
  .regex(/^[A-Za-z]\w*(\.[A-Za-z]\w*)+$/, 'Must be the name of a package such as dev.coinop.sandbox');

/** As the Play Console takes them. */
export const ProductId = z.string().regex(/^[a-z0-9][a-z0-9_.]{0,39}$/, 'Must be 1 to 40 of a-z, 0-9, _ and .');

/** The sandbox's tokens are told from Google's at a glance. */
export function newPurchaseToken(): string {
  return `sandbox.${randomBytes(24).toString('base64url')}`;
}

/** Whether `POST /sandbox/issue` can have given this token. */
export function mayBePurchaseToken(token: string): boolean {
  return /^sandbox\.[\w-]{32}$/.test(token);
}
