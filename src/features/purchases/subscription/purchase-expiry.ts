import { RENEWAL_LEEWAY_MS, RENEWAL_MOMENT_MS } from '../../../accounts/purchase-lines.ts';
import type { StorePurchase, StoreState, StoreSubscription } from '../../../stores/store.ts';

/** States in which a subscription is paid for until `expiresAt`. A canceled subscription is paid for too, but does not renew. */
const PAID: readonly StoreState[] = ['active', 'grace', 'canceled'];

export function isPaid(state: StoreState): boolean {
  return PAID.includes(state);
}

/** The time at which the purchase stops giving access, in milliseconds since 1970. Undefined if it never gives access. */
function accessEnd({ state, expiresAt, willRenew, checkedAt }: StoreSubscription, now: number): number | undefined {
  if (!isPaid(state) || expiresAt === undefined) return undefined;
  if (now < expiresAt || state === 'canceled' || willRenew !== true) return expiresAt;
  if (checkedAt < expiresAt) return expiresAt + RENEWAL_LEEWAY_MS;
  return checkedAt < expiresAt + RENEWAL_MOMENT_MS ? expiresAt + RENEWAL_MOMENT_MS : expiresAt;
}

function givesAccess(purchase: StoreSubscription, now: number): boolean {
  return now < (accessEnd(purchase, now) ?? -Infinity);
}

/**
 * The purchase as it is at the time `now`. The state is `expired` once the paid access has ended, even if the app store's last answer was
 * `active`.
 */
export function purchaseAt(purchase: StoreSubscription, now: number) {
  const end = accessEnd(purchase, now);
  const subscribed = end !== undefined && now < end;
  const state = isPaid(purchase.state) && !subscribed ? 'expired' : purchase.state;
  return { ...purchase, subscribed, state, expiresAt: subscribed ? end : purchase.expiresAt };
}

/** The times at which `purchaseAt` may change, in milliseconds since 1970. */
export function purchaseChanges({ expiresAt }: StoreSubscription): number[] {
  return expiresAt === undefined ? [] : [expiresAt, expiresAt + RENEWAL_MOMENT_MS, expiresAt + RENEWAL_LEEWAY_MS];
}

/** Whether the purchase has to be acknowledged. A store expects the acknowledgement only after the purchase has given access. */
export function needsAcknowledgement(purchase: StorePurchase, now: number): boolean {
  return !purchase.acknowledged && givesAccess(purchase, now);
}
