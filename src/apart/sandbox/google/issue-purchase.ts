import { z } from 'zod';
import { invalid, refuse } from '../../../errors.ts';
import { productStates, type ProductState } from '../../../stores/store.ts';
import { AccountIdGiven, knownAtOf, mayBePurchaseToken, newOrderId, newPurchaseToken, type Order } from '../model.ts';
import { productNotificationOf } from './product-notification.ts';
import { keepPurchase, readPurchase, type IssuedPurchase, type KeptPurchase } from './purchase-record.ts';
import { deliverNotification } from './push-notification.ts';
import type { SandboxServices } from '../sandbox-services.ts';
import { SANDBOX_PACKAGE_NAME } from '../settings.ts';

/** The product that is bought if a request names none: the first of the sample catalogue. */
const DEFAULT_PRODUCT_ID = 'coins_500';

/** The most units of one purchase, the same as in Google Play. */
const MOST_UNITS = 1000;

const Units = z.int('Must be a whole number').max(MOST_UNITS, `Must be at most ${MOST_UNITS}`);

export const purchaseFields = {
  quantity: Units.min(1, 'Must be at least 1').optional().meta({ description: 'purchase: units that are bought. 1 if left out.' }),
  refundedQuantity: Units.min(0, 'Must be at least 0').optional().meta({
    description: 'purchase: units that are refunded in all. A lower number than before reverses a refund.',
  }),
  obfuscatedAccountId: AccountIdGiven.optional().meta({
    description:
      "subscription, purchase: the id of the buyer's account that the app gives to the store: `googleAccountId` of `GET /v1/account/store-ids`.",
  }),
  test: z
    .boolean()
    .optional()
    .meta({ description: 'subscription, purchase: bought by a licence tester, who pays nothing. apple: in the environment `Sandbox`.' }),
};

type PurchaseOrder = Order & z.output<z.ZodObject<typeof purchaseFields>>;

interface PurchaseReply {
  readonly purchaseToken: string;
  readonly productId: string;
  readonly packageName: string;
  /** Undefined while the purchase is pending: Google gives it a number once it has been paid for. */
  readonly orderId: string | undefined;
  readonly state: ProductState;
  readonly quantity: number;
  readonly refundedQuantity: number;
  readonly notified?: boolean;
}

/** How many times a change of a purchase is tried again if another call has changed the purchase in the meantime. */
const TRIES = 20;

export async function issuePurchase(order: PurchaseOrder, services: SandboxServices): Promise<PurchaseReply> {
  const purchaseToken = order.purchaseToken ?? newPurchaseToken();
  const { before, issued } = await changePurchase(purchaseToken, services, (kept) => {
    if (order.purchaseToken !== undefined && kept === undefined)
      throw invalid('purchaseToken', 'Must be one that this sandbox issued for a purchase; leave it out for a new one');
    return issuedFor(order, kept?.issued, services.now());
  });
  const { productId, packageName, orderId, state, quantity, refundedQuantity } = issued;
  return {
    ...{ purchaseToken, productId, packageName, orderId: state === 'pending' ? undefined : orderId, state, quantity, refundedQuantity },
    ...(order.notify === true
      ? { notified: await deliverNotification(services, productNotificationOf(issued, before, purchaseToken, services.now())) }
      : {}),
  };
}

/** With SANDBOX_CHAOS, refunds units of a purchase at random when the service reads the purchase. */
export async function refundAtRandom(purchaseToken: string, kept: KeptPurchase, services: SandboxServices): Promise<KeptPurchase> {
  const { issued } = kept;
  const units = issued.state === 'purchased' ? (services.sandbox.chaos?.refund(issued.quantity - issued.refundedQuantity) ?? 0) : 0;
  if (units === 0) return kept;
  const changed = { ...issued, refundedQuantity: issued.refundedQuantity + units };
  const isKept = await keepPurchase(services.scripts, purchaseToken, changed, { seen: kept.seen, now: services.now() });
  if (!isKept) return kept;
  void deliverNotification(services, productNotificationOf(changed, issued, purchaseToken, services.now()));
  return { ...kept, issued: changed };
}

async function changePurchase(
  purchaseToken: string,
  { scripts, now }: SandboxServices,
  change: (kept: KeptPurchase | undefined) => IssuedPurchase,
): Promise<{ before: IssuedPurchase | undefined; issued: IssuedPurchase }> {
  for (let tries = 0; tries < TRIES; tries++) {
    const kept = mayBePurchaseToken(purchaseToken) ? await readPurchase(scripts, purchaseToken) : undefined;
    const issued = change(kept);
    if (await keepPurchase(scripts, purchaseToken, issued, { seen: kept?.seen ?? '', now: now() })) return { before: kept?.issued, issued };
  }
  throw refuse('store_unavailable', { message: 'Other calls keep changing the purchase: try again.' });
}

/** The purchase as the order wants it. @param before the purchase before the change; undefined: a new purchase */
function issuedFor(order: PurchaseOrder, before: IssuedPurchase | undefined, at: number): IssuedPurchase {
  for (const field of ['packageName', 'productId', 'quantity', 'obfuscatedAccountId', 'test'] as const) {
    if (before !== undefined && order[field] !== undefined && order[field] !== before[field])
      throw invalid(field, 'A purchase keeps what it was bought for');
  }
  const state = stateOf(order.state) ?? before?.state ?? 'purchased';
  const quantity = before?.quantity ?? order.quantity ?? 1;
  const refundedQuantity = order.refundedQuantity ?? before?.refundedQuantity ?? 0;
  if (refundedQuantity > quantity) throw invalid('refundedQuantity', 'Must be at most the quantity');
  if (refundedQuantity > 0 && state === 'pending')
    throw invalid('refundedQuantity', 'Nothing is refunded of a purchase that is not paid for');
  return {
    packageName: order.packageName ?? before?.packageName ?? SANDBOX_PACKAGE_NAME,
    productId: order.productId ?? before?.productId ?? DEFAULT_PRODUCT_ID,
    state,
    quantity,
    refundedQuantity,
    obfuscatedAccountId: order.obfuscatedAccountId ?? before?.obfuscatedAccountId,
    test: order.test ?? before?.test ?? false,
    orderId: before?.orderId ?? newOrderId(),
    issuedAt: before?.issuedAt ?? at,
    completedAt: before?.completedAt ?? (state === 'purchased' ? at : undefined),
    knownAt: knownAtOf(order.knownAfterSeconds, at) ?? before?.knownAt,
  };
}

function stateOf(state: string | undefined): ProductState | undefined {
  if (state === undefined) return undefined;
  const found = productStates.find((known) => known === state);
  if (found === undefined) throw invalid('state', `A purchase is ${productStates.join(', ')}`);
  return found;
}
