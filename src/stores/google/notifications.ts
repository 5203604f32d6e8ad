import { z } from 'zod';
import { invalid, refuse } from '../../errors.ts';
import { endpoint, type Services } from '../../declare.ts';
import { PurchaseToken } from '../store.ts';
import { GoogleStore } from './google-store.ts';

/** The fields of DeveloperNotification that the service reads: https://developer.android.com/google/play/billing/rtdn-reference */
const Notification = z.object({
  packageName: z.string(),
  subscriptionNotification: z.object({ purchaseToken: PurchaseToken }).optional(),
  oneTimeProductNotification: z.object({ purchaseToken: PurchaseToken }).optional(),
  voidedPurchaseNotification: z.object({ purchaseToken: PurchaseToken, productType: z.number().optional().catch(undefined) }).optional(),
  // With this notification Google asks whether to grant a refund, and accepts the first answer within a day.
  pendingRefundReviewNotification: z
    .looseObject({ purchaseToken: PurchaseToken.optional(), orderId: z.string().max(255).optional().catch(undefined) })
    .optional(),
});

/** The values of `productType` for a voided purchase: https://developer.android.com/google/play/billing/rtdn-reference#voided-purchase */
const SUBSCRIPTION = 1;
const ONE_TIME_PRODUCT = 2;

export const googleNotifications = endpoint({
  method: 'POST',
  path: '/v1/store/google/notifications',
  operationId: 'receiveNotification',
  caller: 'none',
  summary: "Receives Google Play's real-time developer notifications, which Pub/Sub pushes.",
  description:
    'The push carries an OIDC token (`Authorization: Bearer …`) of the service account in `GOOGLE_NOTIFICATIONS_EMAIL`, made for ' +
    '`GOOGLE_NOTIFICATIONS_AUDIENCE`. A notification is only a hint and changes no purchase by itself: within a second the service fetches the ' +
    'purchase from the app store. A subscription that no app has sent yet is recorded, and belongs to the account whose id the app gave to the ' +
    'store, else to the owner of the purchase that it continues. The reply comes once Redis has that work. A purchase of coins that is bound to ' +
    'an account is recorded and booked. If the app store does not know it yet, or the catalogue lacks its product, the notification is kept, ' +
    'and the store is asked again. While the app store does not answer, the reply is 503, and Pub/Sub sends the notification again.',
  body: z.object({
    message: z.object({
      data: z.string().meta({ description: 'A DeveloperNotification: JSON in base64.' }),
      messageId: z.string().optional(),
    }),
    subscription: z.string().optional(),
  }),
  reply: z.object({
    checks: z.boolean().meta({
      description: 'Whether the service has a record of the purchase, which it then checks, or keeps the notification until it has one.',
    }),
  }),
  errors: ['bad_token', 'forbidden', 'store_unconfigured', 'app_store_unavailable'],
  // First Google's keys that verify the token may have to be fetched. Then a new purchase is checked (8 s) and consumed (4 s).
  deadlineMs: 20_000,
  example:
    `curl -s $base/v1/store/google/notifications -H 'authorization: Bearer token-of-the-push' -H 'content-type: application/json' ` +
    `-d '{"message":{"data":"eyJwYWNrYWdlTmFtZSI6ImRldi5jb2lub3Auc2FuZGJveCIsInRlc3ROb3RpZmljYXRpb24iOnt9fQ==","messageId":"1"}}'`,
  async handle({ body, meta }, services: NotifiedServices) {
    const { store } = services;
    if (!(store instanceof GoogleStore) || !store.takesNotifications) return refuse('store_unconfigured');
    const [, token] = /^Bearer ([\x21-\x7e]+)$/i.exec(meta.authorization) ?? [];
    if (token === undefined) return refuse('bad_token', { field: 'authorization' });
    await store.verifyPush(token);
    return { checks: await notice(notificationOf(body.message.data), services) };
  },
});

type NotifiedServices = Pick<Services, 'store' | 'checkPurchaseSoon' | 'subscriptionNoticed' | 'productNoticed' | 'log'>;

/** Passes a notification on to the features. @returns whether the service has a record of the purchase that the notification names */
async function notice(
  notification: z.output<typeof Notification>,
  { checkPurchaseSoon, subscriptionNoticed, productNoticed, log }: NotifiedServices,
): Promise<boolean> {
  const { packageName, subscriptionNotification, oneTimeProductNotification, voidedPurchaseNotification } = notification;
  const { pendingRefundReviewNotification: review } = notification;
  if (review !== undefined)
    log.warn({ orderId: review.orderId }, 'Google asks whether a refund is to be granted: answer in the Play Console within a day');
  // Google says that a notification is about one purchase. If a notification ever named several, none may get lost.
  let isRecorded = false;
  if (subscriptionNotification !== undefined) isRecorded = await subscriptionNoticed(subscriptionNotification.purchaseToken, packageName);
  const hints = [
    { ...oneTimeProductNotification, productType: ONE_TIME_PRODUCT, isOfPurchase: true },
    { ...voidedPurchaseNotification, isOfPurchase: false },
    { ...review, productType: undefined, isOfPurchase: false },
  ];
  for (const { purchaseToken, productType, isOfPurchase } of hints) {
    if (purchaseToken === undefined) continue;
    const isKnown =
      (productType !== ONE_TIME_PRODUCT && (await checkPurchaseSoon(purchaseToken))) ||
      (productType !== SUBSCRIPTION && (await productNoticed('google', purchaseToken, packageName, isOfPurchase)));
    isRecorded ||= isKnown;
  }
  return isRecorded;
}

/** Parses the data of a push. @throws Refusal `invalid_request` */
function notificationOf(data: string): z.output<typeof Notification> {
  try {
    return Notification.parse(JSON.parse(Buffer.from(data, 'base64').toString()));
  } catch {
    throw invalid('message.data', 'Must be a DeveloperNotification: JSON in base64');
  }
}
