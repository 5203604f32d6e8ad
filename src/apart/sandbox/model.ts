import { randomBytes, randomInt } from 'node:crypto';
import { z } from 'zod';

export const sandboxRedisKeys = {
  keys: '{sandbox:keys}',
  appleKeys: '{sandbox:apple-keys}',
  /** The Redis key of a hash: `issued` (JSON of IssuedSubscription) and, once acknowledged, `acknowledgedAt` (milliseconds since 1970). */
  subscription: (purchaseToken: string) => `{sandbox:subscription:${purchaseToken}}`,
  /** The Redis key of a hash: `issued` (JSON of IssuedPurchase) and, once consumed, `consumedAt` (milliseconds since 1970). */
  purchase: (purchaseToken: string) => `{sandbox:purchase:${purchaseToken}}`,
  /** The Redis key of a sorted set: the purchase tokens of an app's voided purchases, by the time of their last change. */
  voided: (packageName: string) => `{sandbox:voided:${packageName}}`,
};

/** The name of an app's package: https://developer.android.com/build/configure-app-module#set-application-id */
export const PackageName = z
  .string()
  .max(150, 'Must be at most 150 characters')
  .regex(/^[A-Za-z]\w*(\.[A-Za-z]\w*)+$/, 'Must be the name of a package such as dev.coinop.sandbox');

/** The id of a product, by the rule of the Play Console. */
export const ProductId = z.string().regex(/^[a-z0-9][a-z0-9_.]{0,39}$/, 'Must be 1 to 40 of a-z, 0-9, _ and .');

/** The account, by the id that an app gives to the store. The id is at most as long as Google's obfuscated account ids. */
export const AccountIdGiven = z.string().min(1).max(64);

/** A new purchase token. The prefix of the sandbox's purchase tokens, which Google's do not have. */
export function newPurchaseToken(): string {
  return `sandbox.${randomBytes(24).toString('base64url')}`;
}

/** Whether the token has the format of `newPurchaseToken`. */
export function mayBePurchaseToken(token: string): boolean {
  return /^sandbox\.[\w-]{32}$/.test(token);
}

/** The time from which on the store's API knows a purchase. @param afterSeconds the delay that the order names; undefined: none */
export function knownAtOf(afterSeconds: number | undefined, at: number): number | undefined {
  return afterSeconds === undefined ? undefined : at + Math.round(afterSeconds * 1000);
}

/** Whether the store's API does not know a purchase yet although it was issued already. */
export function isUnknown({ knownAt = 0 }: { readonly knownAt?: number | undefined }, now: number): boolean {
  return now < knownAt;
}

/** A new order number in Google's format, such as `GPA.3345-1122-3344-55667`. */
export function newOrderId(): string {
  const digits = (count: number): string => String(randomInt(10 ** count)).padStart(count, '0');
  return `GPA.${digits(4)}-${digits(4)}-${digits(4)}-${digits(5)}`;
}

/** The fields of an order that all kinds of purchases have (`issue.ts`). */
export interface Order {
  readonly state?: string | undefined;
  readonly productId?: string | undefined;
  readonly packageName?: string | undefined;
  readonly purchaseToken?: string | undefined;
  readonly knownAfterSeconds?: number | undefined;
  readonly notify?: boolean | undefined;
}
