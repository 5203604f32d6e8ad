import { z } from 'zod';
import { Reply } from '../../../server/http/endpoint.ts';
import { scopes } from './issue-access-token.ts';
import { googleEndpoint } from './google-endpoint.ts';
import { subscriptionAt, type SubscriptionState } from './subscription-lifecycle.ts';
import type { KeptSubscription } from './subscription-record.ts';
import { findSubscription } from './find-purchase.ts';

/**
 * Google's names of the states: https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#SubscriptionState
 */
const googleStates: Record<SubscriptionState, string> = {
  pending: 'SUBSCRIPTION_STATE_PENDING',
  active: 'SUBSCRIPTION_STATE_ACTIVE',
  paused: 'SUBSCRIPTION_STATE_PAUSED',
  grace: 'SUBSCRIPTION_STATE_IN_GRACE_PERIOD',
  on_hold: 'SUBSCRIPTION_STATE_ON_HOLD',
  canceled: 'SUBSCRIPTION_STATE_CANCELED',
  expired: 'SUBSCRIPTION_STATE_EXPIRED',
  pending_canceled: 'SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED',
};

const AccountIdentifiers = z.object({ obfuscatedExternalAccountId: z.string() });

/**
 * Google's answer about a subscription:
 * https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#SubscriptionPurchaseV2
 */
const PurchaseV2 = z
  .object({
    kind: z.literal('androidpublisher#subscriptionPurchaseV2'),
    regionCode: z.string(),
    startTime: z.iso.datetime().optional(),
    subscriptionState: z.enum(Object.values(googleStates)),
    latestOrderId: z.string(),
    linkedPurchaseToken: z.string().optional(),
    externalAccountIdentifiers: AccountIdentifiers.optional(),
    outOfAppPurchaseContext: z
      .object({ expiredExternalAccountIdentifiers: AccountIdentifiers.optional(), expiredPurchaseToken: z.string().optional() })
      .optional(),
    pausedStateContext: z.object({ autoResumeTime: z.iso.datetime() }).optional(),
    canceledStateContext: z
      .object({
        userInitiatedCancellation: z.object({ cancelTime: z.iso.datetime() }).optional(),
        systemInitiatedCancellation: z.object({}).optional(),
      })
      .optional(),
    testPurchase: z.object({}).optional(),
    acknowledgementState: z.enum(['ACKNOWLEDGEMENT_STATE_PENDING', 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED']),
    lineItems: z.array(
      z.object({
        productId: z.string(),
        expiryTime: z.iso.datetime().optional(),
        latestSuccessfulOrderId: z.string().optional(),
        autoRenewingPlan: z.object({ autoRenewEnabled: z.boolean() }),
        offerDetails: z.object({ basePlanId: z.string() }),
      }),
    ),
  })
  .meta({
    example: {
      kind: 'androidpublisher#subscriptionPurchaseV2',
      regionCode: 'US',
      startTime: '2026-11-22T12:00:00.000Z',
      subscriptionState: 'SUBSCRIPTION_STATE_ACTIVE',
      latestOrderId: 'GPA.3345-1234-5678-90123',
      acknowledgementState: 'ACKNOWLEDGEMENT_STATE_PENDING',
      lineItems: [
        {
          productId: 'premium',
          expiryTime: '2026-11-22T12:05:00.000Z',
          latestSuccessfulOrderId: 'GPA.3345-1234-5678-90123',
          autoRenewingPlan: { autoRenewEnabled: true },
          offerDetails: { basePlanId: 'sandbox' },
        },
      ],
    },
  });

export const sandboxSubscription = googleEndpoint({
  method: 'GET',
  path: '/sandbox/androidpublisher/androidpublisher/v3/applications/{packageName}/purchases/subscriptionsv2/tokens/{token}',
  operationId: 'sandboxGetSubscription',
  scope: scopes.publisher,
  summary: "The sandbox's stand-in for `purchases.subscriptionsv2.get` of the Google Play Developer API.",
  description:
    "Requires the access token of `POST /sandbox/token`, with the scope androidpublisher, as a bearer. Answers and errors are Google's: " +
    '401 without an access token, 403 without the scope, 400 for a malformed purchase token and for one of another package, 404 for a ' +
    'token that was never issued, 410 once the purchase has been expired for 60 days.',
  params: z.object({ packageName: z.string(), token: z.string() }),
  reply: PurchaseV2,
  example:
    `curl -s $base/sandbox/androidpublisher/androidpublisher/v3/applications/dev.coinop.sandbox/purchases/` +
    `subscriptionsv2/tokens/purchase-token ` +
    `-H 'authorization: Bearer access-token'`,
  async handle({ params }, services) {
    const found = await findSubscription(params.packageName, params.token, services);
    return found instanceof Reply ? found : purchaseV2(found, services.now());
  },
});

function purchaseV2({ issued, isFinished: acknowledged }: KeptSubscription, now: number): z.input<typeof PurchaseV2> {
  const { state, expiresAt, renewing, renewals } = subscriptionAt(issued, now);
  const unpaid = state === 'pending' || state === 'pending_canceled';
  const orderId = renewals === 0 ? issued.orderId : `${issued.orderId}..${renewals - 1}`;
  return {
    kind: 'androidpublisher#subscriptionPurchaseV2',
    regionCode: 'US',
    ...(unpaid ? {} : { startTime: isoTime(issued.startedAt) }),
    subscriptionState: googleStates[state],
    latestOrderId: orderId,
    ...(issued.linkedPurchaseToken === undefined ? {} : { linkedPurchaseToken: issued.linkedPurchaseToken }),
    ...accountContext(issued, acknowledged),
    ...(state === 'paused' ? { pausedStateContext: { autoResumeTime: isoTime(issued.until) } } : {}),
    ...canceledStateContext(state, issued.state === 'canceled' ? issued.issuedAt : undefined),
    ...(issued.test === true ? { testPurchase: {} } : {}),
    acknowledgementState: acknowledged ? 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED' : 'ACKNOWLEDGEMENT_STATE_PENDING',
    lineItems: [
      {
        productId: issued.productId,
        ...(expiresAt === undefined ? {} : { expiryTime: isoTime(expiresAt) }),
        ...(unpaid ? {} : { latestSuccessfulOrderId: orderId }),
        autoRenewingPlan: { autoRenewEnabled: renewing },
        offerDetails: { basePlanId: 'sandbox' },
      },
    ],
  };
}

/** The accounts that the app named to the store. Google no longer names the expired purchase once the new purchase is acknowledged. */
function accountContext(
  { obfuscatedAccountId, expiredPurchaseToken, expiredObfuscatedAccountId }: KeptSubscription['issued'],
  acknowledged: boolean,
): Pick<z.input<typeof PurchaseV2>, 'externalAccountIdentifiers' | 'outOfAppPurchaseContext'> {
  const identifiers = (id: string | undefined) => (id === undefined ? undefined : { obfuscatedExternalAccountId: id });
  const expired = { expiredExternalAccountIdentifiers: identifiers(expiredObfuscatedAccountId), expiredPurchaseToken };
  const isOutOfApp = !acknowledged && (expiredPurchaseToken ?? expiredObfuscatedAccountId) !== undefined;
  return {
    externalAccountIdentifiers: identifiers(obfuscatedAccountId),
    outOfAppPurchaseContext: isOutOfApp ? expired : undefined,
  };
}

/** @param userCanceledAt when the user canceled; undefined: the system did, for example after a declined payment */
function canceledStateContext(
  state: SubscriptionState,
  userCanceledAt: number | undefined,
): Pick<z.input<typeof PurchaseV2>, 'canceledStateContext'> {
  if (state !== 'canceled' && state !== 'expired') return {};
  return {
    canceledStateContext:
      userCanceledAt === undefined
        ? { systemInitiatedCancellation: {} }
        : { userInitiatedCancellation: { cancelTime: isoTime(userCanceledAt) } },
  };
}

function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
