import { defineScript } from '../../../redis/script.ts';
import { pairsOf } from '../../../redis/reply-pairs.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { ProductState } from '../../../stores/store.ts';
import { keepIssued, finishIssued, readIssued, type KeptRecord } from '../issued-record.ts';
import { sandboxRedisKeys } from '../model.ts';
import { read } from '../../../redis/reads.ts';

/**
 * Adds a purchase to the list of its app's voided purchases, or removes it from the list. Also removes purchases that were voided before
 * `oldest`. `voidedAt` is '' if no unit is refunded.
 */
const voidScript = defineScript({
  name: 'sandbox/void-purchase',
  lua: `if voided_at == '' then redis.call('ZREM', voided, token) else redis.call('ZADD', voided, voided_at, token) end
    redis.call('ZREMRANGEBYSCORE', voided, '-inf', oldest)
    return {'done'}`,
  keys: ['voided'],
  args: ['token', 'voidedAt', 'oldest'],
  answers: ['done'],
  durable: true,
});

/** Seconds for which Redis keeps a purchase after its last change: longer than Google answers about a purchase. */
const KEPT_SECONDS = 400 * 86_400;

/** Milliseconds for which a voided purchase is listed, the same as with Google. */
const VOIDED_KEPT_MS = 30 * 86_400_000;

/** A purchase of a one-time product, as it was issued or last changed. Times are milliseconds since 1970. */
export interface IssuedPurchase {
  readonly packageName: string;
  /** The store's id of the product. */
  readonly productId: string;
  readonly state: ProductState;
  readonly quantity: number;
  /** The number of units refunded so far, all refunds together. */
  readonly refundedQuantity: number;
  readonly obfuscatedAccountId: string | undefined;
  readonly test: boolean;
  readonly orderId: string;
  readonly issuedAt: number;
  /** When the purchase was paid for. Undefined: it was not. */
  readonly completedAt: number | undefined;
  /** The time from which on the store's API knows the purchase. Undefined: at once. */
  readonly knownAt?: number | undefined;
}

/** Finished: the purchase was consumed. */
export type KeptPurchase = KeptRecord<IssuedPurchase>;

/** Whether a paid purchase was refunded in whole or in part. */
export const isVoided = ({ state, completedAt, refundedQuantity }: IssuedPurchase): boolean =>
  refundedQuantity > 0 || (state === 'canceled' && completedAt !== undefined);

export function readPurchase(scripts: ScriptRunner, purchaseToken: string): Promise<KeptPurchase | undefined> {
  return readIssued(scripts, sandboxRedisKeys.purchase(purchaseToken), 'consumedAt');
}

/**
 * Records a purchase, and lists it if it is voided.
 * @param seen the JSON that was read before the change; '' for a new purchase
 * @returns false if another call has changed the purchase since it was read
 */
export async function keepPurchase(
  scripts: ScriptRunner,
  purchaseToken: string,
  issued: IssuedPurchase,
  { seen, now }: { readonly seen: string; readonly now: number },
): Promise<boolean> {
  const keys = { voided: sandboxRedisKeys.voided(issued.packageName) };
  const list = (voidedAt: number | ''): Promise<unknown> =>
    scripts.run(voidScript, keys, { token: purchaseToken, voidedAt, oldest: now - VOIDED_KEPT_MS });
  // A refund is listed before it is recorded, because this process may die between the two steps. Readers of the list skip a purchase that
  // is not voided.
  if (isVoided(issued)) await list(now);
  const isKept = await keepIssued(scripts, sandboxRedisKeys.purchase(purchaseToken), issued, { seen, keptSeconds: KEPT_SECONDS });
  if (!isKept) return false;
  if (seen !== '' && !isVoided(issued)) await list('');
  return true;
}

export function consumePurchase(scripts: ScriptRunner, purchaseToken: string): Promise<void> {
  return finishIssued(scripts, sandboxRedisKeys.purchase(purchaseToken), 'consumedAt');
}

/** The purchase tokens of an app's voided purchases, with the times of their last change. */
export async function listVoided(
  scripts: ScriptRunner,
  packageName: string,
  { from, to, offset, count }: { readonly from: number; readonly to: number; readonly offset: number; readonly count: number },
): Promise<[token: string, at: string][]> {
  const voided = sandboxRedisKeys.voided(packageName);
  return pairsOf(await read(scripts, 'ZRANGEBYSCORE', voided, from, to, 'WITHSCORES', 'LIMIT', offset, count));
}
