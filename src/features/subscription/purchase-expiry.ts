/**
 * How long a renewing subscription gives access past its end if the app store was not asked since that end. The check runs from
 * a queue, and the app store may be down: neither may lock out a user who goes on paying. Within a day the service or the app store
 * is back, or an operator has seen the alarm. A user whose renewal failed gains a day at most.
 */
export const RENEWAL_LEEWAY_MS = 24 * 3_600_000;

/**
 * How long a renewing subscription gives access past its end if the app store, asked within this time after that end, still
 * answers active: the renewal happens at about that moment, and clocks differ.
 */
export const RENEWAL_MOMENT_MS = 2 * 60_000;

export const storeStates = ['active', 'grace', 'on_hold', 'paused', 'canceled', 'expired', 'pending'] as const;

export type StoreState = (typeof storeStates)[number];

/** States in which a subscription is paid for until `expiresAt`. A canceled subscription is paid for and does not renew. */
const PAID: readonly StoreState[] = ['active', 'grace', 'canceled'];

/** The app store's last answer for one purchase. Times are milliseconds since 1970. */
export interface StoreSubscription {
  readonly state: StoreState;
  /** Undefined while nothing is paid. */
  readonly expiresAt: number | undefined;
  readonly productId: string;
  /** Undefined for a prepaid plan, which cannot renew. */
  readonly willRenew: boolean | undefined;
  /** When this service sent the request. */
  readonly checkedAt: number;
}

/** When the purchase stops to give access. Undefined: it gives none at any time. */
function accessEnd({ state, expiresAt, willRenew, checkedAt }: StoreSubscription, now: number): number | undefined {
  if (!PAID.includes(state) || expiresAt === undefined) return undefined;
  if (now < expiresAt || state === 'canceled' || willRenew !== true) return expiresAt;
  if (checkedAt < expiresAt) return expiresAt + RENEWAL_LEEWAY_MS;
  return checkedAt < expiresAt + RENEWAL_MOMENT_MS ? expiresAt + RENEWAL_MOMENT_MS : expiresAt;
}

export function givesAccess(purchase: StoreSubscription, now: number): boolean {
  return now < (accessEnd(purchase, now) ?? -Infinity);
}

/** The purchase at `now`: `expired` once its paid access has ended, even if the app store's last answer was active. */
export function purchaseAt(purchase: StoreSubscription, now: number) {
  const end = accessEnd(purchase, now);
  const subscribed = end !== undefined && now < end;
  const state = PAID.includes(purchase.state) && !subscribed ? 'expired' : purchase.state;
  return { ...purchase, subscribed, state, expiresAt: subscribed ? end : purchase.expiresAt };
}
