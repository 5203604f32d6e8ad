import { z } from 'zod';
import { Reply, type Encoded } from '../../../server/http/endpoint.ts';
import type { ProductState } from '../../../stores/store.ts';
import { googleEndpoint } from './google-endpoint.ts';
import { scopes } from './issue-access-token.ts';
import { refundAtRandom } from './issue-purchase.ts';
import { issuedTo } from './find-purchase.ts';
import { readPurchase, type KeptPurchase } from './purchase-record.ts';
import type { SandboxServices } from '../sandbox-services.ts';

/** Google's names of the states: https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.productsv2#purchasestate */
const googleStates: Record<ProductState, string> = { pending: 'PENDING', purchased: 'PURCHASED', canceled: 'CANCELLED' };

/**
 * Google's answer about a purchase: https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.productsv2#ProductPurchaseV2
 */
const PurchaseV2 = z
  .object({
    kind: z.literal('androidpublisher#productPurchaseV2'),
    regionCode: z.string(),
    orderId: z.string().optional(),
    purchaseCompletionTime: z.iso.datetime().optional(),
    purchaseStateContext: z.object({ purchaseState: z.enum(Object.values(googleStates)) }),
    acknowledgementState: z.enum(['ACKNOWLEDGEMENT_STATE_PENDING', 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED']),
    obfuscatedExternalAccountId: z.string().optional(),
    testPurchaseContext: z.object({ fopType: z.literal('TEST') }).optional(),
    productLineItem: z.array(
      z.object({
        productId: z.string(),
        productOfferDetails: z.object({
          consumptionState: z.enum(['CONSUMPTION_STATE_YET_TO_BE_CONSUMED', 'CONSUMPTION_STATE_CONSUMED']),
          quantity: z.int(),
          refundableQuantity: z.int(),
        }),
      }),
    ),
  })
  .meta({
    example: {
      kind: 'androidpublisher#productPurchaseV2',
      regionCode: 'US',
      orderId: 'GPA.3345-1234-5678-90123',
      purchaseCompletionTime: '2026-11-22T12:00:00.000Z',
      purchaseStateContext: { purchaseState: 'PURCHASED' },
      acknowledgementState: 'ACKNOWLEDGEMENT_STATE_PENDING',
      productLineItem: [
        {
          productId: 'coins_500',
          productOfferDetails: { consumptionState: 'CONSUMPTION_STATE_YET_TO_BE_CONSUMED', quantity: 1, refundableQuantity: 1 },
        },
      ],
    },
  });

export const sandboxProductPurchase = googleEndpoint({
  method: 'GET',
  path: '/sandbox/androidpublisher/androidpublisher/v3/applications/{packageName}/purchases/productsv2/tokens/{token}',
  operationId: 'sandboxGetProductPurchase',
  scope: scopes.publisher,
  summary: "The sandbox's stand-in for `purchases.productsv2.getproductpurchasev2` of the Google Play Developer API.",
  description:
    "Requires the access token of `POST /sandbox/token`, with the scope androidpublisher, as a bearer. Answers and errors are Google's: " +
    '401 without an access token, 403 without the scope, 400 for a malformed purchase token and for one of another package, 404 for a ' +
    'token that was never issued.',
  params: z.object({ packageName: z.string(), token: z.string() }),
  reply: PurchaseV2,
  example:
    `curl -s $base/sandbox/androidpublisher/androidpublisher/v3/applications/dev.coinop.sandbox/purchases/` +
    `productsv2/tokens/purchase-token ` +
    `-H 'authorization: Bearer access-token'`,
  async handle({ params }, services) {
    const found = await findProductPurchase(params.packageName, params.token, services);
    return found instanceof Reply ? found : purchaseV2(await refundAtRandom(params.token, found, services));
  },
});

/** The one-time purchase of a purchase token, or Google's error if the token has none. */
export function findProductPurchase(
  packageName: string,
  token: string,
  { scripts, now }: SandboxServices,
): Promise<KeptPurchase | Reply<Encoded>> {
  return issuedTo(packageName, token, now(), (of) => readPurchase(scripts, of));
}

function purchaseV2({ issued, isFinished: isConsumed }: KeptPurchase): z.input<typeof PurchaseV2> {
  const { state, orderId, completedAt, quantity, refundedQuantity, obfuscatedAccountId, productId, test } = issued;
  return {
    kind: 'androidpublisher#productPurchaseV2',
    regionCode: 'US',
    ...(state === 'pending' ? {} : { orderId }),
    ...(completedAt === undefined ? {} : { purchaseCompletionTime: new Date(completedAt).toISOString() }),
    purchaseStateContext: { purchaseState: googleStates[state] },
    acknowledgementState: isConsumed ? 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED' : 'ACKNOWLEDGEMENT_STATE_PENDING',
    ...(obfuscatedAccountId === undefined ? {} : { obfuscatedExternalAccountId: obfuscatedAccountId }),
    ...(test ? { testPurchaseContext: { fopType: 'TEST' } } : {}),
    productLineItem: [
      {
        productId,
        productOfferDetails: {
          consumptionState: isConsumed ? 'CONSUMPTION_STATE_CONSUMED' : 'CONSUMPTION_STATE_YET_TO_BE_CONSUMED',
          quantity,
          refundableQuantity: quantity - refundedQuantity,
        },
      },
    ],
  };
}
