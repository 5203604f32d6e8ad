import { z } from 'zod';
import type { Refusal } from '../../errors.ts';
import type { Services } from '../../declare.ts';
import { appStoreUnavailable } from '../../stores/google/app-store-unavailable.ts';
import { givesAccess, type StoreState, type StoreSubscription } from './purchase-expiry.ts';

/**
 * Google's SubscriptionState
 * (https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#subscriptionstate). Any other
 * value, such as UNSPECIFIED or one that Google adds later, counts as an outage: it neither gives access nor takes it away.
 */
const states: Readonly<Record<string, StoreState>> = {
  SUBSCRIPTION_STATE_ACTIVE: 'active',
  SUBSCRIPTION_STATE_IN_GRACE_PERIOD: 'grace',
  SUBSCRIPTION_STATE_ON_HOLD: 'on_hold',
  SUBSCRIPTION_STATE_PAUSED: 'paused',
  SUBSCRIPTION_STATE_CANCELED: 'canceled',
  SUBSCRIPTION_STATE_EXPIRED: 'expired',
  SUBSCRIPTION_STATE_PENDING: 'pending',
  // Never paid for: expired, without a time at which access ended.
  SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED: 'expired',
};

/** States of a purchase that is not paid for. It has no end of access, and the purchase that it was to replace continues. */
const UNPAID = new Set(['SUBSCRIPTION_STATE_PENDING', 'SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED']);

/** Retry-After of an unknown state: it stays unknown until a developer adds it, so an early retry gains nothing. */
const UNKNOWN_STATE_MS = 60_000;

const ProductId = z.string().regex(/^[\x21-\x7e]{1,255}$/);

/** The fields of SubscriptionPurchaseV2 that are read. Google leaves out fields that are false or empty. */
const Purchase = z.object({
  subscriptionState: z.string(),
  acknowledgementState: z.string().optional(),
  linkedPurchaseToken: z.string().min(1).optional(),
  lineItems: z
    .array(
      z.object({
        productId: ProductId,
        expiryTime: z.string().transform(Date.parse).pipe(z.number().int()).optional(),
        autoRenewingPlan: z.object({ autoRenewEnabled: z.boolean().optional() }).optional(),
      }),
    )
    .min(1),
});

export interface StorePurchase extends StoreSubscription {
  /** The token of the purchase that this one replaces, as in an upgrade. Undefined: it replaces none. */
  readonly linkedToken: string | undefined;
  /** Whether the replacement is in force: only once this purchase is paid for. */
  readonly retires: boolean;
  /** True as well for a purchase that needs no acknowledgement. */
  readonly acknowledged: boolean;
}

type StoreParts = { store: NonNullable<Services['store']> } & Pick<Services, 'log' | 'now'>;

/**
 * Calls `purchases.subscriptionsv2.get`. `gone`: the purchase expired so long ago that the app store no longer answers for it.
 * `unknown`: this app has no such purchase.
 * @throws Refusal `store_unavailable`, `store_unconfigured`
 */
export async function fetchPurchase(packageName: string, token: string, parts: StoreParts): Promise<StorePurchase | 'gone' | 'unknown'> {
  const { store, now } = parts;
  const checkedAt = now();
  const path = `/androidpublisher/v3/applications/${packageName}/purchases/subscriptionsv2/tokens/${encodeURIComponent(token)}`;
  const { status, body } = await store.api.call({ method: 'GET', url: store.settings.publisherUrl + path });
  if (status === 410) return 'gone';
  if (status >= 400) return 'unknown';
  const purchase = parsePurchase(body, token, checkedAt);
  if (typeof purchase !== 'string') return purchase;
  parts.log.error({ reason: purchase }, 'the answer of the app store about a purchase is not understood');
  throw appStoreUnavailable(UNKNOWN_STATE_MS);
}

/** The purchase, or for the log the field or state that is not understood. */
function parsePurchase(body: unknown, token: string, checkedAt: number): StorePurchase | string {
  const parsed = Purchase.safeParse(body);
  if (!parsed.success) return parsed.error.issues[0]!.path.join('.') || 'not an object';
  const { subscriptionState, acknowledgementState, linkedPurchaseToken, lineItems } = parsed.data;
  const state = Object.hasOwn(states, subscriptionState) ? states[subscriptionState] : undefined;
  if (state === undefined) return /^\w{1,64}$/.test(subscriptionState) ? subscriptionState : 'subscriptionState';
  const isPaid = !UNPAID.has(subscriptionState);
  const [last] = lineItems.toSorted((one, other) => (other.expiryTime ?? 0) - (one.expiryTime ?? 0));
  const { productId, expiryTime } = last!;
  if (isPaid && expiryTime === undefined) return 'lineItems.expiryTime';
  const linkedToken = linkedPurchaseToken === token ? undefined : linkedPurchaseToken;
  const plans = lineItems.flatMap(({ autoRenewingPlan = [] }) => autoRenewingPlan);
  return {
    state,
    expiresAt: isPaid ? expiryTime : undefined,
    productId,
    willRenew: plans.length === 0 ? undefined : plans.some(({ autoRenewEnabled }) => autoRenewEnabled === true),
    checkedAt,
    linkedToken,
    retires: isPaid && linkedToken !== undefined,
    acknowledged: acknowledgementState !== 'ACKNOWLEDGEMENT_STATE_PENDING',
  };
}

/** Time for one try and a retry. The buyer waits for it. */
const ACKNOWLEDGE_MS = 4000;

/**
 * Calls `purchases.subscriptions.acknowledge`: Google refunds a purchase that is not acknowledged within three days. Returns whether
 * the call succeeded. Repeating it is safe.
 */
export async function acknowledge(
  { packageName, productId, token }: { packageName: string; productId: string; token: string },
  { store, log }: StoreParts,
): Promise<boolean> {
  const product = `${encodeURIComponent(productId)}/tokens/${encodeURIComponent(token)}:acknowledge`;
  const url = `${store.settings.publisherUrl}/androidpublisher/v3/applications/${packageName}/purchases/subscriptions/${product}`;
  try {
    const { status } = await store.api.call({ method: 'POST', url, body: {}, budgetMs: ACKNOWLEDGE_MS });
    if (status < 300) return true;
    log.warn({ status }, 'the app store refused the acknowledgement of a purchase: the next check tries again');
  } catch (error) {
    log.warn({ reason: (error as Refusal).message }, 'a purchase could not be acknowledged: the next check tries again');
  }
  return false;
}

/** Google expects the acknowledgement once access was given, and not before. */
export function needsAcknowledgement(purchase: StorePurchase, now: number): boolean {
  return !purchase.acknowledged && givesAccess(purchase, now);
}
