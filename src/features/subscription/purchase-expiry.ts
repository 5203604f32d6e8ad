/**
 * How long a subscription that was to renew counts past its end while the store was not asked since: the check is a
 * queue's work and the store may be away, and neither should lock out who goes on paying. Within a day the service or
 * the store is back or somebody has seen the alarm; and a day is all that a renewal which failed can gain.
 */
export const RENEWAL_LEEWAY_MS = 24 * 3_600_000;

/**
 * How long one that renews counts past its end where the store, asked just then, still says active: it renews at about
 * that moment, and clocks differ.
 */
export const RENEWAL_MOMENT_MS = 2 * 60_000;

export const storeStates = ['active', 'grace', 'on_hold', 'paused', 'canceled', 'expired', 'pending'] as const;

export type StoreState = (typeof storeStates)[number];

/** The states in which a subscription is paid for until `expiresAt`. A canceled one only renews no more. */
const PAID: readonly StoreState[] = ['active', 'grace', 'canceled'];

/** What the store last said of one purchase. Times are milliseconds since 1970. */
export interface StoreSubscription {
  readonly state: StoreState;
  /** Undefined where nothing was paid yet. */
  readonly expiresAt: number | undefined;
  readonly productId: string;
  /** Undefined of one that nobody could renew: prepaid. */
  readonly willRenew: boolean | undefined;
  /** When the store was asked. */
  readonly checkedAt: number;
}

/** When a purchase stops to give access; undefined where it gives none, whatever the time. */
function accessEnd({ state, expiresAt, willRenew, checkedAt }: StoreSubscription, now: number): number | undefined {
  if (!PAID.includes(state) || expiresAt === undefined) return undefined;
  if (now < expiresAt || state === 'canceled' || willRenew !== true) return expiresAt;
  if (checkedAt < expiresAt) return expiresAt + RENEWAL_LEEWAY_MS;
  return checkedAt < expiresAt + RENEWAL_MOMENT_MS ? expiresAt + RENEWAL_MOMENT_MS : expiresAt;
}

/** Whether a purchase gives access at `now`. */
export function givesAccess(purchase: StoreSubscription, now: number): boolean {
  return now < (accessEnd(purchase, now) ?? -Infinity);
}

/** The purchase as it stands at `now`: what is paid for no more has expired. */
export function purchaseAt(purchase: StoreSubscription, now: number) {
  const end = accessEnd(purchase, now);
  const subscribed = end !== undefined && now < end;
  const state = PAID.includes(purchase.state) && !subscribed ? 'expired' : purchase.state;
  return { ...purchase, subscribed, state, expiresAt: subscribed ? end : purchase.expiresAt };
}
