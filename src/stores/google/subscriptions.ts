import { z } from 'zod';
import type { StorePurchase, StoreState } from '../store.ts';
import type { GoogleApi } from './google-api.ts';
import { PlaySales, ProductId, type Asked } from './publisher-api.ts';
import type { GoogleOptions } from './settings.ts';

/**
 * Google's SubscriptionState (https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#subscriptionstate).
 * Any other value, such as UNSPECIFIED or a state that Google adds later, is treated as an outage of the store, so that access is neither
 * given nor taken away.
 */
const states: Readonly<Record<string, StoreState>> = {
  SUBSCRIPTION_STATE_ACTIVE: 'active',
  SUBSCRIPTION_STATE_IN_GRACE_PERIOD: 'grace',
  SUBSCRIPTION_STATE_ON_HOLD: 'on_hold',
  SUBSCRIPTION_STATE_PAUSED: 'paused',
  SUBSCRIPTION_STATE_CANCELED: 'canceled',
  SUBSCRIPTION_STATE_EXPIRED: 'expired',
  SUBSCRIPTION_STATE_PENDING: 'pending',
  // The subscription was never paid for. It counts as expired, without a time at which access ended.
  SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED: 'expired',
};

/**
 * The states of a purchase that is not paid for. Such a purchase has no end of access. If it is meant to replace another purchase, the
 * other purchase continues.
 */
const UNPAID = new Set(['SUBSCRIPTION_STATE_PENDING', 'SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED']);

const Time = z.string().transform(Date.parse).pipe(z.number().int());

// Only the state and the products decide what a buyer gets. A malformed value of any other field is therefore ignored.
const AccountIdentifiers = z.object({ obfuscatedExternalAccountId: z.string().max(255).optional().catch(undefined) });

/** The fields of SubscriptionPurchaseV2 that the service reads. Google leaves out fields that are false or empty. */
const Purchase = z.object({
  subscriptionState: z.string(),
  startTime: Time.optional().catch(undefined),
  acknowledgementState: z.string().optional(),
  linkedPurchaseToken: z.string().min(1).optional(),
  // Set for a purchase of a licence tester.
  testPurchase: z.looseObject({}).optional(),
  externalAccountIdentifiers: AccountIdentifiers.optional(),
  // Set for a purchase made outside the app:
  // https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#outofapppurchasecontext
  outOfAppPurchaseContext: z
    .object({ expiredExternalAccountIdentifiers: AccountIdentifiers.optional(), expiredPurchaseToken: z.string().min(1).optional() })
    .optional(),
  lineItems: z
    .array(
      z.object({
        productId: ProductId,
        latestSuccessfulOrderId: z.string().max(255).optional().catch(undefined),
        expiryTime: Time.optional(),
        autoRenewingPlan: z.object({ autoRenewEnabled: z.boolean().optional() }).optional(),
      }),
    )
    .min(1),
});

/** Subscriptions in Google Play, read with `purchases.subscriptionsv2.get` and acknowledged with `purchases.subscriptions.acknowledge`. */
export class PlaySubscriptions extends PlaySales<StorePurchase> {
  constructor(options: GoogleOptions, api: GoogleApi) {
    super(options, api, { resource: 'subscriptionsv2', acknowledged: ['subscriptions', 'acknowledge'], parse: parsePurchase });
  }
}

/** The purchase. A text if the answer cannot be interpreted: it names the field or state at fault, for the log. */
function parsePurchase(body: unknown, asked: Asked): StorePurchase | string {
  const parsed = Purchase.safeParse(body);
  if (!parsed.success) return parsed.error.issues[0]!.path.join('.') || 'not an object';
  const { subscriptionState, startTime, acknowledgementState, linkedPurchaseToken, lineItems } = parsed.data;
  const { externalAccountIdentifiers, outOfAppPurchaseContext, testPurchase } = parsed.data;
  const state = Object.hasOwn(states, subscriptionState) ? states[subscriptionState] : undefined;
  if (state === undefined) return /^\w{1,64}$/.test(subscriptionState) ? subscriptionState : 'subscriptionState';
  const isPaid = !UNPAID.has(subscriptionState);
  const [last] = lineItems.toSorted((one, other) => (other.expiryTime ?? 0) - (one.expiryTime ?? 0));
  const { productId, expiryTime, latestSuccessfulOrderId } = last!;
  if (isPaid && expiryTime === undefined) return 'lineItems.expiryTime';
  const linkedId = linkedPurchaseToken === asked.id ? undefined : linkedPurchaseToken;
  const plans = lineItems.flatMap(({ autoRenewingPlan = [] }) => autoRenewingPlan);
  return {
    ...asked,
    state,
    expiresAt: isPaid ? expiryTime : undefined,
    productId,
    willRenew: plans.length === 0 ? undefined : plans.some(({ autoRenewEnabled }) => autoRenewEnabled === true),
    buyer: externalAccountIdentifiers?.obfuscatedExternalAccountId,
    linkedId,
    renewed: outOfAppPurchaseContext && {
      id: outOfAppPurchaseContext.expiredPurchaseToken,
      buyer: outOfAppPurchaseContext.expiredExternalAccountIdentifiers?.obfuscatedExternalAccountId,
    },
    boughtAt: isPaid ? startTime : undefined,
    orderId: latestSuccessfulOrderId,
    retires: isPaid && linkedId !== undefined,
    acknowledged: acknowledgementState !== 'ACKNOWLEDGEMENT_STATE_PENDING',
    isTest: testPurchase !== undefined,
  };
}
