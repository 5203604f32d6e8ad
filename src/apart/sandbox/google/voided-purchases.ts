import { z } from 'zod';
import { googleEndpoint } from './google-endpoint.ts';
import { invalidValue } from './google-reply.ts';
import { scopes } from './issue-access-token.ts';
import { isVoided, listVoided, readPurchase } from './purchase-record.ts';

/** The most entries on a page, which is also the number if the request names none, as in Google's API. */
const MOST_A_PAGE = 1000;

const Millis = z.string().regex(/^\d{1,15}$/);

/** Stands in for https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.voidedpurchases/list */
export const sandboxVoidedPurchases = googleEndpoint({
  method: 'GET',
  path: '/sandbox/androidpublisher/androidpublisher/v3/applications/{packageName}/purchases/voidedpurchases',
  operationId: 'sandboxListVoidedPurchases',
  scope: scopes.publisher,
  summary: "The sandbox's stand-in for `purchases.voidedpurchases.list` of the Google Play Developer API.",
  description:
    'Requires the access token of `POST /sandbox/token`, with the scope androidpublisher, as a bearer. Lists purchases of one-time products ' +
    'that were canceled or refunded in the last 30 days; those of which only some units are refunded where ' +
    '`includeQuantityBasedPartialRefund` is true. A purchase has one entry, with the units refunded in sum.',
  params: z.object({ packageName: z.string() }),
  query: z.object({
    startTime: Millis.optional(),
    endTime: Millis.optional(),
    maxResults: z
      .string()
      .regex(/^\d{1,4}$/)
      .optional(),
    token: z.string().max(20).optional().meta({ description: '`nextPageToken` of the page before.' }),
    type: z.string().max(1).optional(),
    includeQuantityBasedPartialRefund: z.string().max(5).optional(),
  }),
  reply: z
    .object({
      voidedPurchases: z
        .array(
          z.object({
            kind: z.literal('androidpublisher#voidedPurchase'),
            purchaseToken: z.string(),
            orderId: z.string(),
            purchaseTimeMillis: z.string(),
            voidedTimeMillis: z.string(),
            voidedSource: z.int(),
            voidedReason: z.int(),
            voidedQuantity: z.int().optional(),
          }),
        )
        .optional(),
      tokenPagination: z.object({ nextPageToken: z.string() }).optional(),
    })
    .meta({
      example: {
        voidedPurchases: [
          {
            kind: 'androidpublisher#voidedPurchase',
            purchaseToken: 'sandbox.Rk2vYp7QxLm0TzJcW4sNbH8dGfA1uEoK',
            orderId: 'GPA.3345-1234-5678-90123',
            purchaseTimeMillis: '1795348800000',
            voidedTimeMillis: '1795348860000',
            voidedSource: 1,
            voidedReason: 1,
          },
        ],
      },
    }),
  example:
    `curl -s "$base/sandbox/androidpublisher/androidpublisher/v3/applications/dev.coinop.sandbox/purchases/` +
    `voidedpurchases?includeQuantityBasedPartialRefund=true" ` +
    `-H 'authorization: Bearer access-token'`,
  async handle({ params, query }, { scripts, now }) {
    const { packageName } = params;
    const { startTime, endTime, maxResults, token, includeQuantityBasedPartialRefund } = query;
    const count = Math.min(Number(maxResults ?? MOST_A_PAGE), MOST_A_PAGE);
    if (count === 0 || (token !== undefined && !/^after\.\d{1,9}$/.test(token))) return invalidValue();
    const offset = token === undefined ? 0 : Number(token.slice('after.'.length));
    const page = { from: Number(startTime ?? 0), to: Number(endTime ?? now()), offset, count };
    const listed = await listVoided(scripts, packageName, page);
    const found = await Promise.all(
      listed.map(async ([purchaseToken, at]) => {
        const kept = await readPurchase(scripts, purchaseToken);
        if (kept === undefined || !isVoided(kept.issued)) return [];
        const { state, quantity, refundedQuantity, orderId, issuedAt } = kept.issued;
        const isPartial = state !== 'canceled' && refundedQuantity < quantity;
        if (isPartial && includeQuantityBasedPartialRefund !== 'true') return [];
        return [
          {
            kind: 'androidpublisher#voidedPurchase' as const,
            purchaseToken,
            orderId,
            purchaseTimeMillis: String(issuedAt),
            voidedTimeMillis: at,
            voidedSource: 1,
            voidedReason: 1,
            ...(isPartial ? { voidedQuantity: refundedQuantity } : {}),
          },
        ];
      }),
    );
    const voidedPurchases = found.flat();
    return {
      ...(voidedPurchases.length === 0 ? {} : { voidedPurchases }),
      ...(listed.length < count ? {} : { tokenPagination: { nextPageToken: `after.${offset + count}` } }),
    };
  },
});
