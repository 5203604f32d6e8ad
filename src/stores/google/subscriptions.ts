import { z } from 'zod';
import type { Bought, StorePurchase, StoreState, Subscriptions } from '../store.ts';
import type { GoogleApi } from './google-api.ts';
import { readInApps, ProductId, purchasesUrl, readPurchase, tell } from './publisher-api.ts';
import type { GoogleOptions } from './settings.ts';

/**
 * Google's SubscriptionState (https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#subscriptionstate).
 * Any other value, such as UNSPECIFIED or a state that Google adds later, is treated as an outage of the store: access is neither given nor
 * taken away.
 */
const states: Readonly<Record<string, StoreState>> = {
  SUBSCRIPTION_STATE_ACTIVE: 'active',
  SUBSCRIPTION_STATE_IN_GRACE_PERIOD: 'grace',
  SUBSCRIPTION_STATE_ON_HOLD: 'on_hold',
  SUBSCRIPTION_STATE_PAUSED: 'paused',
  SUBSCRIPTION_STATE_CANCELED: 'canceled',
  SUBSCRIPTION_STATE_EXPIRED: 'expired',
  SUBSCRIPTION_STATE_PENDING: 'pending',
  // The subscription was never paid for. It is expired, without a time at which access ended.
  SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED: 'expired',
};

/**
 * The states of a purchase that is not paid for. Such a purchase has no end of access, and if it was to replace another purchase, the other
 * purchase continues.
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

interface Asked {
  readonly packageName: string;
  readonly token: string;
  readonly checkedAt: number;
}

/** Subscriptions of Google Play, by the Google Play Developer API. */
export class PlaySubscriptions implements Subscriptions {
  readonly #options: GoogleOptions;
  readonly #api: GoogleApi;

  constructor(options: GoogleOptions, api: GoogleApi) {
    this.#options = options;
    this.#api = api;
  }

  get packageNames(): readonly string[] {
    return this.#options.settings().packageNames;
  }

  read(token: string, packageName?: string, traceparent?: string): Promise<StorePurchase | 'gone' | 'unknown'> {
    const apps = packageName === undefined ? this.packageNames : [packageName];
    return readInApps(apps, (app) => this.#readIn(app, token, traceparent));
  }

  /** Calls `purchases.subscriptionsv2.get`. Google answers 410 for a purchase that expired long ago. */
  #readIn(packageName: string, token: string, traceparent: string | undefined): Promise<StorePurchase | 'gone' | 'unknown'> {
    const asked = { packageName, token, checkedAt: this.#options.now() };
    const url = `${purchasesUrl(this.#options, packageName)}/subscriptionsv2/tokens/${encodeURIComponent(token)}`;
    return readPurchase({ url, traceparent }, (body) => parsePurchase(body, asked), this.#options, this.#api);
  }

  /** Calls `purchases.subscriptions.acknowledge`. */
  acknowledge({ packageName, productId, token }: Bought, traceparent?: string): Promise<boolean> {
    const call = `${encodeURIComponent(productId)}/tokens/${encodeURIComponent(token)}:acknowledge`;
    const url = `${purchasesUrl(this.#options, packageName)}/subscriptions/${call}`;
    return tell('acknowledgement', { url, traceparent }, this.#options, this.#api);
  }
}

/** The purchase. A text if the answer is not understood: the field or state at fault, for the log. */
function parsePurchase(body: unknown, { packageName, token, checkedAt }: Asked): StorePurchase | string {
  const parsed = Purchase.safeParse(body);
  if (!parsed.success) return parsed.error.issues[0]!.path.join('.') || 'not an object';
  const { subscriptionState, startTime, acknowledgementState, linkedPurchaseToken, lineItems } = parsed.data;
  const { externalAccountIdentifiers, outOfAppPurchaseContext } = parsed.data;
  const state = Object.hasOwn(states, subscriptionState) ? states[subscriptionState] : undefined;
  if (state === undefined) return /^\w{1,64}$/.test(subscriptionState) ? subscriptionState : 'subscriptionState';
  const isPaid = !UNPAID.has(subscriptionState);
  const [last] = lineItems.toSorted((one, other) => (other.expiryTime ?? 0) - (one.expiryTime ?? 0));
  const { productId, expiryTime, latestSuccessfulOrderId } = last!;
  if (isPaid && expiryTime === undefined) return 'lineItems.expiryTime';
  const linkedToken = linkedPurchaseToken === token ? undefined : linkedPurchaseToken;
  const plans = lineItems.flatMap(({ autoRenewingPlan = [] }) => autoRenewingPlan);
  return {
    packageName,
    state,
    expiresAt: isPaid ? expiryTime : undefined,
    productId,
    willRenew: plans.length === 0 ? undefined : plans.some(({ autoRenewEnabled }) => autoRenewEnabled === true),
    checkedAt,
    buyer: externalAccountIdentifiers?.obfuscatedExternalAccountId,
    linkedToken,
    renewed: outOfAppPurchaseContext && {
      token: outOfAppPurchaseContext.expiredPurchaseToken,
      buyer: outOfAppPurchaseContext.expiredExternalAccountIdentifiers?.obfuscatedExternalAccountId,
    },
    boughtAt: isPaid ? startTime : undefined,
    orderId: latestSuccessfulOrderId,
    retires: isPaid && linkedToken !== undefined,
    acknowledged: acknowledgementState !== 'ACKNOWLEDGEMENT_STATE_PENDING',
  };
}
