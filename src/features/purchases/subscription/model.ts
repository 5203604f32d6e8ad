import { z } from 'zod';
import type { Services } from '../../../declare.ts';
import { purchaseLine } from '../../../accounts/purchase-lines.ts';
import { heldFields, isoTime, timeOf } from '../../../accounts/merge-rules.ts';
import { storeStates, type StoreState, type StoreSubscription } from '../../../stores/store.ts';

/** The services of endpoints that answer with the caller's subscription. */
export type SubscriptionServices = Pick<Services, 'scripts' | 'config' | 'now'>;

export const subscriptionKeys = {
  /**
   * The record of a purchase of a subscription: a hash. The Redis key contains the purchase's `purchaseHash`. Fields:
   * - token (the store's own id), packageName, store (missing: the first store of the table)
   * - owner: an account id; after a move still the guest's. `-`, without a token, if another purchase replaced this one and the owner was
   *   deleted. Missing if a notification named the purchase, and no account owns it yet.
   * - bound: 1 if an id that the app gave to the store names the owner
   * - state, expiresAt, productId, willRenew and checkedAt as in the account's lines (`purchasesOf`), acknowledged, test (1: nobody paid for it)
   * - faults (checks in a row that failed or left the purchase unacknowledged), dueAt (when the next check is due), hintedAt (when the last
   *   notification arrived)
   * - retiredBy (the purchase that replaced this one), revision and todo (`purchase-todo.lua`), act (the id of the last change: the queue
   *   had an entry with this id before the record changed)
   * - if a notification named the purchase before an app sent it: noticedAt, unknowns (answers in a row that the store does not know the
   *   purchase), boughtAt, orderId, follows (the purchases that this one continues)
   *
   * A record with an owner never expires, because without the record another account could claim the token. A record without an owner is
   * deleted once the store no longer waits for an acknowledgement.
   */
  purchase: (purchase: string) => `{purchase:${purchase}}`,
  /**
   * A set of purchases, each as its `purchaseHash`: the purchases that the account recorded, and those that found no room in the account's
   * ten lines. Another account may own such a purchase now. After a guest moved, its set stays under the guest's id, as the records of its
   * purchases do.
   */
  ofAccount: (accountId: string) => `{${accountId}}:purchases`,
  /** The queue of purchases to check: sorted sets of `purchaseHash`. The score of a purchase is the time at which its check is due. */
  due: 'purchases:due',
  /**
   * The queue of purchases without an owner: sorted sets of `purchaseHash`. The score of a purchase is the time at which its check is due.
   */
  unowned: 'purchases:unowned',
  /** A string: the revision of the purchase at the last change of the account's line of this purchase (`account-lines.lua`). */
  revised: (accountId: string, purchase: string) => `{${accountId}}:revised:${purchase}`,
};

export interface SubscriptionFacts {
  /** The account's purchases, without those that another purchase replaced. */
  purchases?: readonly StoreSubscription[];
  /** The app's last report. */
  report?: { subscribed: boolean; at: number };
}

export const Subscription = z
  .object({
    subscribed: z.boolean().meta({ description: 'Whether the subscription gives access now, also during its grace period.' }),
    state: z.enum([...storeStates, 'none']),
    source: z
      .enum(['store', 'report', 'none'])
      .meta({ description: 'The source of the state: the app store, a report of the app, or neither.' }),
    verified: z.boolean().meta({ description: 'Whether the app store confirmed the state.' }),
    productId: z.string().optional(),
    expiresAt: z.iso
      .datetime()
      .optional()
      .meta({ description: 'The end of the access that is paid for. With `source: report`, the time at which the report stops counting.' }),
    willRenew: z.boolean().optional(),
  })
  .meta({
    id: 'Subscription',
    example: {
      subscribed: true,
      state: 'active',
      source: 'store',
      verified: true,
      productId: 'premium',
      expiresAt: '2026-12-22T12:00:00.000Z',
      willRenew: true,
    },
  });

/** Fields of the account's hash with the app's last report. */
export const reportFields = heldFields('later', 'reportedAt', 'reportedSubscribed');

/** The field of the account's hash with the lines of its purchases, which `purchasesOf` parses. */
export const purchaseLines = heldFields('purchase_lines', 'purchases');

export const subscriptionFields = [...reportFields.names, ...purchaseLines.names] as const;

/** @param reports SUBSCRIPTION_REPORTS: `ignore` also ignores reports that were recorded before the setting changed */
export function subscriptionFactsOf(
  fields: Record<(typeof subscriptionFields)[number], string>,
  reports: 'accept' | 'ignore',
): SubscriptionFacts {
  const facts: SubscriptionFacts = { purchases: purchasesOf(fields.purchases) };
  const reportedAt = timeOf(fields.reportedAt);
  if (reports === 'accept' && reportedAt !== undefined) facts.report = { subscribed: fields.reportedSubscribed === '1', at: reportedAt };
  return facts;
}

const Time = z.iso.datetime();

/** A purchase as its owner may see it. */
export const RecordedPurchase = z
  .object({
    productId: z.string(),
    packageName: z.string().optional(),
    state: z.string().meta({ description: "The app store's last answer." }),
    expiresAt: Time.optional(),
    willRenew: z.boolean().optional(),
    checkedAt: Time.meta({ description: 'The time at which the app store was last asked.' }),
    isReplaced: z.boolean().optional().meta({ description: 'True if another purchase replaced this one.' }),
  })
  .meta({ id: 'RecordedPurchase', example: { productId: 'premium', state: 'active', checkedAt: '2026-11-22T12:00:00.000Z' } });

/**
 * Parses the account's field `purchases`, which `put-line.lua` writes. It has a line for each purchase that no other purchase replaced, ten
 * lines at most, in no order (`accounts/purchase-lines.lua`). A purchase has a line in one account only, so a move joins the guest's lines
 * with the account's lines (`guest-moves/add-guest-to-account.lua`).
 */
export function purchasesOf(field: string): StoreSubscription[] {
  return field.split('\n').flatMap((text) => {
    const line = purchaseLine.parse(text);
    if (line === undefined) return [];
    const { state, ends, renews, checked, product } = line;
    return {
      state: state as StoreState,
      expiresAt: ends === '-' ? undefined : ends,
      productId: product,
      willRenew: renews === '-' ? undefined : renews === '1',
      checkedAt: checked,
    };
  });
}

/** The part of `RecordedPurchase` that comes from the app store's answer. */
export function shownPurchase({
  productId,
  state,
  expiresAt,
  willRenew,
  checkedAt,
}: Omit<StoreSubscription, 'state'> & { readonly state: string }) {
  return { productId, state, expiresAt: isoTime(expiresAt), willRenew, checkedAt: isoTime(checkedAt)! };
}
