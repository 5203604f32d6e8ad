import { z } from 'zod';
import { Environment, RENEWABLE } from '../../../stores/apple/transactions.ts';
import { appleEndpoint, appleError, transactionNotFound } from './apple-endpoint.ts';
import { listRefunds, refundAtRandom } from './refunds.ts';
import { finishIssued, readIssued, type KeptRecord } from '../issued-record.ts';
import { readTransaction, renewalOf, statusOf, transactionOf, type Issued } from './issued-transaction.ts';
import { isUnknown, sandboxRedisKeys } from '../model.ts';
import type { SandboxServices } from '../sandbox-services.ts';
import { appStoreUrlAt } from '../settings.ts';

/** The URL of the stand-in for the App Store Server API. */
const ROOT = `${appStoreUrlAt('')}/{environment}/inApps/v1`;

const params = z.object({ environment: z.string(), transactionId: z.string() });

const HOWEVER = "Requires a token of the sandbox's API key as a bearer. `environment` is `production` or `sandbox`. Errors are Apple's.";

const example = (path: string): string => `curl -s $base${appStoreUrlAt('')}/production/inApps/v1/${path} -H 'authorization: Bearer token'`;

/** The transaction with an id, if this environment has it. */
async function transactionIn(environment: string, id: string, services: SandboxServices): Promise<KeptRecord<Issued> | undefined> {
  const { scripts, now } = services;
  const kept = /^\d{1,30}$/.test(id) ? await readTransaction(scripts, id) : undefined;
  return kept === undefined || environmentOf(environment) !== kept.issued.environment || isUnknown(kept.issued, now()) ? undefined : kept;
}

const environmentOf = (name: string): Environment | undefined => Environment.options.find((known) => known.toLowerCase() === name);

export const sandboxTransaction = appleEndpoint({
  method: 'GET',
  path: `${ROOT}/transactions/{transactionId}`,
  operationId: 'sandboxGetTransaction',
  summary: "The sandbox's stand-in for *Get Transaction Info* of the App Store Server API.",
  description: HOWEVER,
  params,
  reply: z.object({ signedTransactionInfo: z.string() }).meta({ example: { signedTransactionInfo: 'signed-by-the-sandbox' } }),
  example: example('transactions/2000000123456789'),
  async handle({ params: { environment, transactionId } }, services) {
    const kept = await transactionIn(environment, transactionId, services);
    if (kept === undefined) return transactionNotFound();
    const issued = await refundAtRandom(kept, services);
    return { signedTransactionInfo: await services.sandbox.appleKeys.sign(transactionOf(issued, services.now())) };
  },
});

export const sandboxSubscriptionStatus = appleEndpoint({
  method: 'GET',
  path: `${ROOT}/subscriptions/{transactionId}`,
  operationId: 'sandboxGetSubscriptionStatus',
  summary: "The sandbox's stand-in for *Get All Subscription Statuses* of the App Store Server API.",
  description: `${HOWEVER} The answer has one subscription: that of the transaction.`,
  params,
  // The `status` of a subscription: 1 active, 2 expired, 3 billing retry, 4 grace, 5 revoked.
  reply: z.object({ environment: z.string(), bundleId: z.string(), data: z.array(z.looseObject({})) }),
  example: example('subscriptions/2000000123456789'),
  async handle({ params: { environment, transactionId } }, services) {
    const bought = await transactionIn(environment, transactionId, services);
    if (bought === undefined || bought.issued.type !== RENEWABLE) return transactionNotFound();
    const { originalTransactionId } = bought.issued;
    const record = sandboxRedisKeys.subscription(originalTransactionId);
    const last = (await readIssued<Issued>(services.scripts, record, 'acknowledgedAt'))?.issued ?? bought.issued;
    const { appleKeys } = services.sandbox;
    const at = services.now();
    const signedTransactionInfo = await appleKeys.sign(transactionOf(last, at));
    const signedRenewalInfo = await appleKeys.sign(renewalOf(last, at));
    return {
      environment: last.environment,
      bundleId: last.bundleId,
      data: [
        {
          subscriptionGroupIdentifier: '20000001',
          lastTransactions: [{ originalTransactionId, status: statusOf(last, at), signedTransactionInfo, signedRenewalInfo }],
        },
      ],
    };
  },
});

export const sandboxFinish = appleEndpoint({
  method: 'POST',
  path: `${ROOT}/transactions/{transactionId}/finish`,
  operationId: 'sandboxFinishTransaction',
  summary: "The sandbox's stand-in for *Finish Transaction* of the App Store Server API.",
  params,
  emptyBody: true,
  body: z.object({}),
  reply: z.object({}),
  example: example('transactions/2000000123456789/finish').replace(' -H ', ' -X POST -H '),
  async handle({ params: { environment, transactionId } }, services) {
    if ((await transactionIn(environment, transactionId, services)) === undefined) return transactionNotFound();
    await finishIssued(services.scripts, sandboxRedisKeys.purchase(transactionId), 'consumedAt');
    return {};
  },
});

/** The number of notifications on a page, as in Apple's API. */
const A_PAGE = 20;

export const sandboxNotificationHistory = appleEndpoint({
  method: 'POST',
  path: `${ROOT}/notifications/history`,
  operationId: 'sandboxGetNotificationHistory',
  summary: "The sandbox's stand-in for *Get Notification History* of the App Store Server API.",
  description:
    `${HOWEVER} It has refunds, and refunds that were taken back, also those of which no notification was sent. A page has ${A_PAGE}, and the ` +
    'token of the next one.',
  params: z.object({ environment: z.string() }),
  query: z.object({ paginationToken: z.string().max(20).optional() }),
  body: z.object({ startDate: z.number(), endDate: z.number(), notificationType: z.string().max(64) }),
  reply: z
    .object({
      notificationHistory: z.array(z.object({ signedPayload: z.string() })),
      hasMore: z.boolean(),
      paginationToken: z.string().optional(),
    })
    .meta({ example: { notificationHistory: [{ signedPayload: 'signed-by-the-sandbox' }], hasMore: false } }),
  example:
    `${example('notifications/history')} -H 'content-type: application/json' ` +
    `-d '{"startDate":1795348800000,"endDate":1795435200000,"notificationType":"REFUND"}'`,
  async handle({ params: { environment: name }, query, body }, services) {
    const environment = environmentOf(name);
    const { paginationToken = 'after.0' } = query;
    if (environment === undefined) return appleError(404, 4040003, 'App not found.');
    if (!/^after\.\d{1,9}$/.test(paginationToken)) return appleError(400, 4000014, 'Invalid request. Invalid pagination token.');
    const offset = Number(paginationToken.slice('after.'.length));
    const page = { type: body.notificationType, from: body.startDate, to: body.endDate, offset, count: A_PAGE };
    const notificationHistory = await listRefunds(environment, page, services);
    const hasMore = notificationHistory.length === A_PAGE;
    return {
      notificationHistory: notificationHistory.map((signedPayload) => ({ signedPayload })),
      hasMore,
      ...(hasMore ? { paginationToken: `after.${offset + A_PAGE}` } : {}),
    };
  },
});
