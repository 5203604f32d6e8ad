import { randomBytes, randomInt } from 'node:crypto';
import { z } from 'zod';

export const sandboxRedisKeys = {
  keys: '{sandbox:keys}',
  /** A hash: `issued` (JSON of IssuedSubscription) and, once acknowledged, `acknowledgedAt` (milliseconds since 1970). */
  subscription: (purchaseToken: string) => `{sandbox:subscription:${purchaseToken}}`,
  /** A hash: `issued` (JSON of IssuedPurchase) and, once consumed, `consumedAt` (milliseconds since 1970). */
  purchase: (purchaseToken: string) => `{sandbox:purchase:${purchaseToken}}`,
  /** A sorted set: the tokens of an app's voided purchases by the time of their last change. */
  voided: (packageName: string) => `{sandbox:voided:${packageName}}`,
};

/** https://developer.android.com/build/configure-app-module#set-application-id */
export const PackageName = z
  .string()
  .max(150, 'Must be at most 150 characters')
  .regex(/^[A-Za-z]\w*(\.[A-Za-z]\w*)+$/, 'Must be the name of a package such as dev.coinop.sandbox');

/** The Play Console's rule for product ids. */
export const ProductId = z.string().regex(/^[a-z0-9][a-z0-9_.]{0,39}$/, 'Must be 1 to 40 of a-z, 0-9, _ and .');

/** Google's limit for an obfuscated account id. */
export const AccountIdGiven = z.string().min(1).max(64);

/** The prefix distinguishes the sandbox's tokens from Google's. */
export function newPurchaseToken(): string {
  return `sandbox.${randomBytes(24).toString('base64url')}`;
}

/** Whether the token has the format of `newPurchaseToken`. */
export function mayBePurchaseToken(token: string): boolean {
  return /^sandbox\.[\w-]{32}$/.test(token);
}

/** The time from which the API knows a purchase. @param afterSeconds of the order. Undefined: the order names no delay */
export function knownAtOf(afterSeconds: number | undefined, at: number): number | undefined {
  return afterSeconds === undefined ? undefined : at + Math.round(afterSeconds * 1000);
}

/** Whether the API does not know an issued purchase yet. */
export function isUnknown({ knownAt = 0 }: { readonly knownAt?: number | undefined }, now: number): boolean {
  return now < knownAt;
}

/** `GPA.3345-1122-3344-55667` */
export function newOrderId(): string {
  const digits = (count: number): string => String(randomInt(10 ** count)).padStart(count, '0');
  return `GPA.${digits(4)}-${digits(4)}-${digits(4)}-${digits(5)}`;
}
