import { z } from 'zod';
import type { Refusal } from '../../errors.ts';
import type { Services } from '../../declare.ts';
import { appStoreAway } from '../../google/outage.ts';
import { givesAccess, type StoreState, type StoreSubscription } from './purchase-expiry.ts';

/**
 * The store's SubscriptionState
 * (https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#subscriptionstate). One
 * that is not here, UNSPECIFIED or of a later day, says nothing: it neither gives nor takes.
 */
const states: Readonly<Record<string, StoreState>> = {
  SUBSCRIPTION_STATE_ACTIVE: 'active',
  SUBSCRIPTION_STATE_IN_GRACE_PERIOD: 'grace',
  SUBSCRIPTION_STATE_ON_HOLD: 'on_hold',
  SUBSCRIPTION_STATE_PAUSED: 'paused',
  SUBSCRIPTION_STATE_CANCELED: 'canceled',
  SUBSCRIPTION_STATE_EXPIRED: 'expired',
  SUBSCRIPTION_STATE_PENDING: 'pending',
  // Nothing was ever paid: like one that is over, without an end.
  SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED: 'expired',
};

/** Nothing was paid yet, or ever: no end to name, and what it was to replace goes on. */
const UNPAID = new Set(['SUBSCRIPTION_STATE_PENDING', 'SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED']);

/** Nobody gets to see a state that is not known sooner than somebody has looked into it. */
const UNKNOWN_STATE_MS = 60_000;

const ProductId = z.string().regex(/^[\x21-\x7e]{1,255}$/);

/** SubscriptionPurchaseV2, as far as it is looked at. Google leaves out what is false or empty. */
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

/** What the store says of a purchase. */
export interface StorePurchase extends StoreSubscription {
  /** The purchase whose place it takes; undefined where it takes none. */
  readonly linkedToken: string | undefined;
  /** Whether it has taken that place: once it was paid for. */
  readonly retires: boolean;
  /** Whether the store has been told that the purchase arrived, or need not be told. */
  readonly acknowledged: boolean;
}

type StoreParts = { store: NonNullable<Services['store']> } & Pick<Services, 'log' | 'now'>;

/**
 * Asks the store for a purchase (`purchases.subscriptionsv2.get`). `gone`: over for so long that the store forgot it;
 * `unknown`: there is no such purchase of this app.
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
  parts.log.error({ reason: purchase }, 'the app store says something of a purchase that is not understood');
  throw appStoreAway(UNKNOWN_STATE_MS);
}

/** The purchase, or why what the store says is not understood. */
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

/** Telling the store takes as long as one try and its retry: whoever bought waits for it. */
const ACKNOWLEDGE_MS = 4000;

/**
 * Tells the store that the purchase arrived (`purchases.subscriptions.acknowledge`): one that was told nothing for three
 * days gives the money back. Answers whether that went well; it may be told twice.
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
    log.warn({ status }, 'the app store takes no acknowledgement of a purchase: it is tried again');
  } catch (error) {
    log.warn({ reason: (error as Refusal).message }, 'a purchase could not be acknowledged: it is tried again');
  }
  return false;
}

/** Whether to acknowledge a purchase: only once access was given for it. */
export function needsAcknowledgement(purchase: StorePurchase, now: number): boolean {
  return !purchase.acknowledged && givesAccess(purchase, now);
}
