import { z } from 'zod';
import { invalid, refuse } from '../../errors.ts';
import { endpoint, type Services } from '../../declare.ts';
import { PurchaseToken } from '../store.ts';
import { GoogleStore } from './google-store.ts';

/** The fields of DeveloperNotification that are read: https://developer.android.com/google/play/billing/rtdn-reference */
const Notification = z.object({
  packageName: z.string(),
  subscriptionNotification: z.object({ purchaseToken: PurchaseToken }).optional(),
  voidedPurchaseNotification: z.object({ purchaseToken: PurchaseToken }).optional(),
});

export const googleNotifications = endpoint({
  method: 'POST',
  path: '/v1/store/google/notifications',
  operationId: 'receiveNotification',
  caller: 'none',
  summary: "Receives Google Play's real-time developer notifications, which Pub/Sub pushes.",
  description:
    'The push carries an OIDC token (`Authorization: Bearer …`) of the service account in `GOOGLE_NOTIFICATIONS_EMAIL`, made for ' +
    '`GOOGLE_NOTIFICATIONS_AUDIENCE`. A notification is only a hint and changes no purchase by itself. If the purchase it names is ' +
    'recorded here, the service fetches it from the app store within a second.',
  body: z.object({
    message: z.object({
      data: z.string().meta({ description: 'A DeveloperNotification: JSON in base64.' }),
      messageId: z.string().optional(),
    }),
    subscription: z.string().optional(),
  }),
  reply: z.object({
    checks: z.boolean().meta({ description: 'Whether the notification names a purchase that is recorded here; its check is then due.' }),
  }),
  errors: ['bad_token', 'forbidden', 'store_unconfigured'],
  // Google's keys that verify the token may have to be fetched first.
  deadlineMs: 10_000,
  example:
    `curl -s $base/v1/store/google/notifications -H 'authorization: Bearer token-of-the-push' -H 'content-type: application/json' ` +
    `-d '{"message":{"data":"eyJwYWNrYWdlTmFtZSI6ImRldi5jb2lub3Auc2FuZGJveCIsInRlc3ROb3RpZmljYXRpb24iOnt9fQ==","messageId":"1"}}'`,
  async handle({ body, meta }, { store, checkPurchaseSoon }: Pick<Services, 'store' | 'checkPurchaseSoon'>) {
    if (!(store instanceof GoogleStore) || !store.takesNotifications) return refuse('store_unconfigured');
    const [, token] = /^Bearer ([\x21-\x7e]+)$/i.exec(meta.authorization) ?? [];
    if (token === undefined) return refuse('bad_token', { field: 'authorization' });
    await store.verifyPush(token);
    const { subscriptionNotification, voidedPurchaseNotification } = notificationOf(body.message.data);
    const { purchaseToken } = subscriptionNotification ?? voidedPurchaseNotification ?? {};
    return { checks: purchaseToken !== undefined && (await checkPurchaseSoon(purchaseToken)) };
  },
});

/** @throws Refusal `invalid_request` */
function notificationOf(data: string): z.output<typeof Notification> {
  try {
    return Notification.parse(JSON.parse(Buffer.from(data, 'base64').toString()));
  } catch {
    throw invalid('message.data', 'Must be a DeveloperNotification: JSON in base64');
  }
}
