import { z } from 'zod';
import { Encoded, Reply } from '../../../server/http/endpoint.ts';
import { scopes } from './issue-access-token.ts';
import { googleEndpoint } from './google-endpoint.ts';
import { googleError, invalidValue, notFound } from './google-reply.ts';
import { subscriptionAt } from './subscription-lifecycle.ts';
import { findSubscription } from './find-purchase.ts';
import { acknowledgeSubscription } from './subscription-record.ts';

const CALL = ':acknowledge';

/** Stands in for https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptions/acknowledge */
export const sandboxAcknowledge = googleEndpoint({
  method: 'POST',
  path: '/sandbox/androidpublisher/androidpublisher/v3/applications/{packageName}/purchases/subscriptions/{productId}/tokens/{call}',
  operationId: 'sandboxAcknowledge',
  scope: scopes.publisher,
  summary: "The sandbox's stand-in for `purchases.subscriptions.acknowledge` of the Google Play Developer API.",
  description:
    'Requires the access token of `POST /sandbox/token`, with the scope androidpublisher, as a bearer. Answers 204 without a body, also ' +
    'for a purchase that was acknowledged before. Errors are those of the stand-in for `purchases.subscriptionsv2.get`. A purchase ' +
    'of another product, not paid for, or expired is refused with 400.',
  params: z.object({
    packageName: z.string(),
    productId: z.string(),
    call: z.string().meta({ description: 'The purchase token, then `:acknowledge`.' }),
  }),
  body: z.object({ developerPayload: z.string().optional() }),
  emptyBody: true,
  reply: z.object({}),
  example:
    `curl -s -X POST $base/sandbox/androidpublisher/androidpublisher/v3/applications/dev.coinop.sandbox/purchases/` +
    `subscriptions/premium/tokens/purchase-token:acknowledge ` +
    `-H 'authorization: Bearer access-token' -H 'content-type: application/json'`,
  async handle({ params }, services) {
    const { packageName, productId, call } = params;
    if (!call.endsWith(CALL)) return notFound();
    const token = call.slice(0, -CALL.length);
    const found = await findSubscription(packageName, token, services);
    if (found instanceof Reply) return found;
    if (found.issued.productId !== productId) return invalidValue();
    const { state } = subscriptionAt(found.issued, services.now());
    if (!found.isFinished && (state === 'pending' || state === 'pending_canceled' || state === 'expired')) {
      const message = 'The purchase is not in a valid state to perform the desired operation.';
      return googleError(400, { reason: 'invalidPurchaseState', message, place: ['token', 'parameter'] });
    }
    await acknowledgeSubscription(services.scripts, token);
    return new Reply(new Encoded(''), { status: 204 });
  },
});
