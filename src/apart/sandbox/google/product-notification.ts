import { isVoided, type IssuedPurchase } from './purchase-record.ts';

/** The types of OneTimeProductNotification: https://developer.android.com/google/play/billing/rtdn-reference#one-time */
const PURCHASED = 1;
const CANCELED = 2;

/**
 * The values of `productType` and `refundType` of VoidedPurchaseNotification:
 * https://developer.android.com/google/play/billing/rtdn-reference#voided-purchase
 */
const ONE_TIME_PRODUCT = 2;
const FULL_REFUND = 1;
const QUANTITY_BASED_PARTIAL_REFUND = 2;

/**
 * The JSON that Google Play publishes about a purchase. Google has no notification for a reversed refund, so the sandbox sends the
 * notification for a purchase.
 * @param before the purchase before the change. Undefined: a new purchase
 */
export function productNotificationOf(
  issued: IssuedPurchase,
  before: IssuedPurchase | undefined,
  purchaseToken: string,
  at: number,
): object {
  const { packageName, productId, orderId, quantity, refundedQuantity, state } = issued;
  const envelope = { version: '1.0', packageName, eventTimeMillis: String(at) };
  const isReversed = before !== undefined && refundedQuantity < before.refundedQuantity;
  if (isVoided(issued) && !isReversed) {
    const isFull = state === 'canceled' || refundedQuantity === quantity;
    const refundType = isFull ? FULL_REFUND : QUANTITY_BASED_PARTIAL_REFUND;
    return { ...envelope, voidedPurchaseNotification: { purchaseToken, orderId, productType: ONE_TIME_PRODUCT, refundType } };
  }
  const notificationType = state === 'canceled' ? CANCELED : PURCHASED;
  return { ...envelope, oneTimeProductNotification: { version: '1.0', notificationType, purchaseToken, sku: productId } };
}
