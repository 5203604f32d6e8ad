import { z } from 'zod';
import { Encoded, Reply } from '../../../server/http/endpoint.ts';
import { googleEndpoint } from './google-endpoint.ts';
import { googleError, invalidValue, notFound } from './google-reply.ts';
import { scopes } from './issue-access-token.ts';
import { findProductPurchase } from './product-purchase.ts';
import { consumePurchase } from './purchase-record.ts';

const CALL = ':consume';

/** Stands in for https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.products/consume */
export const sandboxConsume = googleEndpoint({
  method: 'POST',
  path: '/sandbox/androidpublisher/androidpublisher/v3/applications/{packageName}/purchases/products/{productId}/tokens/{call}',
  operationId: 'sandboxConsume',
  scope: scopes.publisher,
  summary: "The sandbox's stand-in for `purchases.products.consume` of the Google Play Developer API.",
  description:
    'Requires the access token of `POST /sandbox/token`, with the scope androidpublisher, as a bearer. Answers 204 without a body, also ' +
    'for a purchase that was consumed before. Errors are those of the stand-in for `purchases.productsv2`. A purchase of another product, ' +
    'not paid for, or canceled is refused with 400.',
  params: z.object({
    packageName: z.string(),
    productId: z.string(),
    call: z.string().meta({ description: 'The purchase token, then `:consume`.' }),
  }),
  body: z.object({}),
  emptyBody: true,
  reply: z.object({}),
  example:
    `curl -s -X POST $base/sandbox/androidpublisher/androidpublisher/v3/applications/dev.coinop.sandbox/purchases/` +
    `products/coins_500/tokens/purchase-token:consume ` +
    `-H 'authorization: Bearer access-token' -H 'content-type: application/json'`,
  async handle({ params }, services) {
    const { packageName, productId, call } = params;
    if (!call.endsWith(CALL)) return notFound();
    const token = call.slice(0, -CALL.length);
    const found = await findProductPurchase(packageName, token, services);
    if (found instanceof Reply) return found;
    if (found.issued.productId !== productId) return invalidValue();
    if (!found.isFinished && found.issued.state !== 'purchased') {
      const message = 'The purchase is not in a valid state to perform the desired operation.';
      return googleError(400, { reason: 'invalidPurchaseState', message, place: ['token', 'parameter'] });
    }
    await consumePurchase(services.scripts, token);
    return new Reply(new Encoded(''), { status: 204 });
  },
});
