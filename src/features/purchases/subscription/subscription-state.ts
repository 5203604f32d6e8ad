import type { z } from 'zod';
import { isoTime } from '../../../accounts/merge-rules.ts';
import type { StoreState, StoreSubscription } from '../../../stores/store.ts';
import type { Subscription, SubscriptionFacts } from './model.ts';
import { purchaseAt, purchaseChanges } from './purchase-expiry.ts';

/** Which of an account's purchases and reports decides about its subscription, and what the subscription is at a time. */

/**
 * How long a report of the app counts, in milliseconds. Nobody verifies a report, so this time is short enough that a false report gains
 * little. The time is long enough to bridge a weekend in which the app store cannot be asked.
 */
export const REPORT_LIFE_MS = 72 * 3_600_000;

/**
 * The states that give no access. If none of an account's purchases gives access, the purchase whose state comes first here is the
 * account's subscription. States that the user can still change come first.
 */
const STATES_WITHOUT_ACCESS: readonly StoreState[] = ['on_hold', 'paused', 'pending', 'expired'];

type PurchaseNow = ReturnType<typeof purchaseAt>;

/**
 * Orders purchases so that the first purchase is the account's subscription. Purchases that give access come first. Among them, purchases
 * in grace come last, because an entitlement ranks grace below subscribed. Purchases without access follow in the order of
 * STATES_WITHOUT_ACCESS. Among purchases that are equal in this, the purchase that ends last comes first.
 */
function byPrecedence(one: PurchaseNow, other: PurchaseNow): number {
  return (
    Number(other.subscribed) - Number(one.subscribed) ||
    (one.subscribed
      ? Number(one.state === 'grace') - Number(other.state === 'grace')
      : STATES_WITHOUT_ACCESS.indexOf(one.state) - STATES_WITHOUT_ACCESS.indexOf(other.state)) ||
    (other.expiresAt ?? 0) - (one.expiresAt ?? 0)
  );
}

/**
 * The subscription at the time `now`. If the app store confirmed a purchase, a report does not count, even if the purchase gives no access.
 */
export function subscriptionOf({ purchases = [], report }: SubscriptionFacts, now: number): z.output<typeof Subscription> {
  const [deciding] = purchases.map((purchase) => purchaseAt(purchase, now)).toSorted(byPrecedence);
  if (deciding !== undefined) {
    const { subscribed, state, productId, expiresAt, willRenew } = deciding;
    return {
      subscribed,
      state,
      source: 'store',
      verified: true,
      productId,
      expiresAt: isoTime(expiresAt),
      willRenew: willRenew === undefined ? undefined : willRenew && state !== 'expired',
    };
  }
  if (report !== undefined && now < report.at + REPORT_LIFE_MS) {
    const { subscribed } = report;
    const expiresAt = new Date(report.at + REPORT_LIFE_MS).toISOString();
    return { subscribed, state: subscribed ? 'active' : 'none', source: 'report', verified: false, expiresAt };
  }
  return { subscribed: false, state: 'none', source: 'none', verified: false };
}

/** The times at which the subscription may change by itself, because a time is over, in milliseconds since 1970, in no order. */
export function subscriptionChanges({ purchases = [], report }: SubscriptionFacts): number[] {
  return [...purchases.flatMap(purchaseChanges), ...(report === undefined ? [] : [report.at + REPORT_LIFE_MS])];
}

/** Whether a purchase gives access at the time `now`, and until when, for an explanation to operators. */
export function purchaseNow(
  purchase: StoreSubscription,
  now: number,
): { readonly subscribed: boolean; readonly expiresAt: number | undefined } {
  return purchaseAt(purchase, now);
}
