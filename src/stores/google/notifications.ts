import { z } from 'zod';
import { invalid, refuse } from '../../errors.ts';
import { PurchaseToken, type NotificationEndpoint, type Notifications, type PurchaseHint } from '../store.ts';
import type { PushTokens } from './push-tokens.ts';
import type { GoogleOptions } from './settings.ts';

/** The fields of DeveloperNotification that the service reads: https://developer.android.com/google/play/billing/rtdn-reference */
const Notification = z.looseObject({ packageName: z.string() });

/** The parts of a notification. Each tells of one purchase. */
const parts = {
  subscriptionNotification: z.object({ purchaseToken: PurchaseToken }),
  oneTimeProductNotification: z.object({ purchaseToken: PurchaseToken }),
  voidedPurchaseNotification: z.object({ purchaseToken: PurchaseToken, productType: z.number().optional().catch(undefined) }),
  // With this notification Google asks whether to grant a refund, and accepts the first answer within a day.
  pendingRefundReviewNotification: z.looseObject({
    purchaseToken: PurchaseToken.optional(),
    orderId: z.string().max(255).optional().catch(undefined),
  }),
};

type Part = keyof typeof parts;

/** The values of `productType` for a voided purchase: https://developer.android.com/google/play/billing/rtdn-reference#voided-purchase */
const voidedKinds: Readonly<Record<number, PurchaseHint['kind']>> = { 1: 'subscription', 2: 'product' };

/** Real-time developer notifications, which Pub/Sub pushes. */
export const googleNotifications = {
  path: '/v1/store/google/notifications',
  operationId: 'receiveNotification',
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
  errors: ['bad_token', 'forbidden', 'store_unconfigured', 'app_store_unavailable'],
  // First the service may have to fetch Google's keys that verify the token. Then a new purchase is checked (8 s) and consumed (4 s).
  deadlineMs: 20_000,
  example:
    `curl -s $base/v1/store/google/notifications -H 'authorization: Bearer token-of-the-push' -H 'content-type: application/json' ` +
    `-d '{"message":{"data":"eyJwYWNrYWdlTmFtZSI6ImRldi5jb2lub3Auc2FuZGJveCIsInRlc3ROb3RpZmljYXRpb24iOnt9fQ==","messageId":"1"}}'`,
} as const satisfies NotificationEndpoint;

/** Reads the notifications that Pub/Sub pushes. */
export class PlayNotifications implements Notifications {
  readonly #options: GoogleOptions;
  readonly #pushTokens: PushTokens;

  constructor(options: GoogleOptions, pushTokens: PushTokens) {
    this.#options = options;
    this.#pushTokens = pushTokens;
  }

  async read({ message }: z.output<typeof googleNotifications.body>, authorization: string): Promise<readonly PurchaseHint[]> {
    const [, token] = /^Bearer ([\x21-\x7e]+)$/i.exec(authorization) ?? [];
    if (token === undefined) throw refuse('bad_token', { field: 'authorization' });
    await this.#pushTokens.verifyPush(token);
    const { packageName, told, unreadable } = notificationOf(message.data);
    const { subscriptionNotification, oneTimeProductNotification, voidedPurchaseNotification: voided } = told;
    const { pendingRefundReviewNotification: review } = told;
    if (unreadable.length > 0) this.#options.log.warn({ parts: unreadable }, 'a part of a notification from Google cannot be read');
    if (review !== undefined)
      this.#options.log.warn(
        { orderId: review.orderId },
        'Google asks whether a refund is to be granted: answer in the Play Console within a day',
      );
    const hint = (part: { purchaseToken?: string | undefined } | undefined, kind: PurchaseHint['kind'], mayBeNew: boolean) =>
      part?.purchaseToken === undefined ? [] : [{ kind, id: part.purchaseToken, packageName, mayBeNew }];
    // Google's documents say that a notification is about one purchase. If a notification ever names several purchases, none of them may
    // get lost.
    return [
      ...hint(subscriptionNotification, 'subscription', true),
      ...hint(oneTimeProductNotification, 'product', true),
      ...hint(voided, voidedKinds[voided?.productType ?? 0], false),
      ...hint(review, undefined, false),
    ];
  }
}

interface Told {
  readonly packageName: string;
  readonly told: { readonly [Name in Part]?: z.output<(typeof parts)[Name]> };
  /** The names of the parts that cannot be read. Google repeats a notification that is refused, so one such part must not hold up the others. */
  readonly unreadable: readonly string[];
}

/** Parses the data of a push. @throws Refusal `invalid_request` */
function notificationOf(data: string): Told {
  try {
    const { packageName, ...others } = Notification.parse(JSON.parse(Buffer.from(data, 'base64').toString()));
    const given = Object.entries(parts).filter(([name]) => others[name] != null);
    const read = given.map(([name, shape]) => [name, shape.safeParse(others[name])] as const);
    const told = Object.fromEntries(read.flatMap(([name, { data: part }]) => (part === undefined ? [] : [[name, part]])));
    const unreadable = read.flatMap(([name, { success }]) => (success ? [] : [name]));
    if (unreadable.length > 0 && unreadable.length === given.length) throw new Error('no part can be read');
    return { packageName, told, unreadable };
  } catch {
    throw invalid('message.data', 'Must be a DeveloperNotification: JSON in base64');
  }
}
