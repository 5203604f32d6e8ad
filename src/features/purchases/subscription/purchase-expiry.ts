import type { StorePurchase, StoreState, StoreSubscription } from '../../../stores/store.ts';

/**
 * How long after its end a renewing subscription gives access if the app store was not asked since that end, in milliseconds. The check
 * that asks the store may be late, and the store may be down: neither may lock out a user who goes on paying. Within a day the service or
 * the store works again, or an operator has seen the alarm. A user whose renewal failed gains a day at most.
 */
export const RENEWAL_LEEWAY_MS = 24 * 3_600_000;

/**
 * How long after its end a renewing subscription gives access if the app store, asked shortly after that end, still answers active, in
 * milliseconds: the store renews at about that moment, and clocks differ.
 */
export const RENEWAL_MOMENT_MS = 2 * 60_000;

/** States in which a subscription is paid for until `expiresAt`. A canceled subscription is paid for and does not renew. */
const PAID: readonly StoreState[] = ['active', 'grace', 'canceled'];

/** When the purchase stops to give access, in milliseconds since 1970. Undefined: it gives no access at any time. */
function accessEnd({ state, expiresAt, willRenew, checkedAt }: StoreSubscription, now: number): number | undefined {
  if (!PAID.includes(state) || expiresAt === undefined) return undefined;
  if (now < expiresAt || state === 'canceled' || willRenew !== true) return expiresAt;
  if (checkedAt < expiresAt) return expiresAt + RENEWAL_LEEWAY_MS;
  return checkedAt < expiresAt + RENEWAL_MOMENT_MS ? expiresAt + RENEWAL_MOMENT_MS : expiresAt;
}

function givesAccess(purchase: StoreSubscription, now: number): boolean {
  return now < (accessEnd(purchase, now) ?? -Infinity);
}

/**
 * The purchase at the time `now`: its state is `expired` once its paid access has ended, even if the app store's last answer was active.
 */
export function purchaseAt(purchase: StoreSubscription, now: number) {
  const end = accessEnd(purchase, now);
  const subscribed = end !== undefined && now < end;
  const state = PAID.includes(purchase.state) && !subscribed ? 'expired' : purchase.state;
  return { ...purchase, subscribed, state, expiresAt: subscribed ? end : purchase.expiresAt };
}

/** The times at which `purchaseAt` may change, in milliseconds since 1970. */
export function purchaseChanges({ expiresAt }: StoreSubscription): number[] {
  return expiresAt === undefined ? [] : [expiresAt, expiresAt + RENEWAL_MOMENT_MS, expiresAt + RENEWAL_LEEWAY_MS];
}

/** Whether the purchase has to be acknowledged. A store expects the acknowledgement once the purchase gave access, and not before. */
export function needsAcknowledgement(purchase: StorePurchase, now: number): boolean {
  return !purchase.acknowledged && givesAccess(purchase, now);
}
