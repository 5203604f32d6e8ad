import { z } from 'zod';
import type { Metrics } from '../../server/metrics.ts';
import type { NotificationEndpoint, Notifications, PurchaseHint } from '../store.ts';
import type { AppleOptions } from './settings.ts';
import { LONGEST, SignedNotifications, type Known, type Told } from './signed-notifications.ts';
import { RENEWABLE, soldIdOf } from './transactions.ts';

/** Types whose meaning for a purchase is in its signed transaction: https://developer.apple.com/documentation/appstoreservernotifications/notificationtype */
const TYPES = new Set(
  (
    'SUBSCRIBED DID_RENEW DID_CHANGE_RENEWAL_PREF DID_CHANGE_RENEWAL_STATUS DID_FAIL_TO_RENEW EXPIRED GRACE_PERIOD_EXPIRED OFFER_REDEEMED ' +
    'PRICE_INCREASE REFUND REFUND_DECLINED REFUND_REVERSED RENEWAL_EXTENDED RENEWAL_EXTENSION REVOKE CONSUMPTION_REQUEST ONE_TIME_CHARGE ' +
    'TEST EXTERNAL_PURCHASE_TOKEN'
  ).split(' '),
);

const SUBTYPES = new Set(
  (
    'INITIAL_BUY RESUBSCRIBE DOWNGRADE UPGRADE AUTO_RENEW_ENABLED AUTO_RENEW_DISABLED VOLUNTARY BILLING_RETRY PRICE_INCREASE GRACE_PERIOD ' +
    'PENDING ACCEPTED BILLING_RECOVERY PRODUCT_NOT_FOR_SALE SUMMARY FAILURE UNREPORTED'
  ).split(' '),
);

/** App Store Server Notifications, version 2. */
export const appleNotifications = {
  path: '/v1/store/apple/notifications',
  operationId: 'receiveAppleNotification',
  summary: "Receives Apple's App Store Server Notifications, version 2.",
  description:
    'Apple has signed the notification, and within it the transaction and its renewal. A text that does not verify, outside or inside, or of ' +
    'another app, is 401 `bad_token`. The service keeps what Apple signed, makes the purchase due for a check, and answers. A purchase that is ' +
    'bound to an account is then recorded and booked without the app. Doubled, late and reordered notifications change nothing. Types that the ' +
    'service does not know are counted (`coinop_apple_notifications_total`) and answered with 200.',
  body: z.object({ signedPayload: z.string().max(LONGEST).meta({ description: 'A JWS that Apple has signed.' }) }),
  answersFirst: true,
  bodyBounds: { bytes: LONGEST },
  errors: ['bad_token', 'store_unconfigured'],
  deadlineMs: 5000,
  example: `curl -s $base/v1/store/apple/notifications -H 'content-type: application/json' -d '{"signedPayload":"signed-by-apple"}'`,
} as const satisfies NotificationEndpoint;

export class AppleNotifications implements Notifications {
  readonly #options: AppleOptions;
  readonly #signed: SignedNotifications;
  // Every type is counted from 0 on, because Prometheus sees no increase in a series that starts at 1.
  readonly #counts = new Map<string, number>([...TYPES, 'unknown'].map((type) => [type, 0]));

  constructor(options: AppleOptions, known: Known) {
    this.#options = options;
    this.#signed = new SignedNotifications(options, known);
    countIn(options.metrics, this.#counts);
  }

  async read({ signedPayload }: z.output<typeof appleNotifications.body>): Promise<readonly PurchaseHint[]> {
    const told = await this.#signed.open(signedPayload);
    const { notificationType: type, subtype, transaction } = told;
    this.#count(TYPES.has(type) && (subtype === undefined || SUBTYPES.has(subtype)) ? type : 'unknown', told);
    if (transaction === undefined) return [];
    const kind = transaction.type === RENEWABLE ? 'subscription' : 'product';
    const mayBeNew = transaction.revocationDate === undefined;
    const { tellsUse, api } = this.#options.settings();
    const asksForUse = type === 'CONSUMPTION_REQUEST' && tellsUse && api !== undefined;
    return [{ kind, id: soldIdOf(transaction), packageName: transaction.bundleId, mayBeNew, asksForUse }];
  }

  #count(type: string, { notificationType, subtype, notificationUUID }: Told): void {
    this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
    if (type === 'unknown')
      this.#options.log.warn({ notificationType, subtype, notificationUUID }, 'Apple sent a notification of an unknown type');
  }
}

function countIn(metrics: Metrics, counts: ReadonlyMap<string, number>): void {
  metrics.countBy({
    name: 'coinop_apple_notifications_total',
    help: 'Notifications of Apple that were verified, by type. Types and subtypes that the service does not know count as unknown.',
    label: 'type',
    counts: () => [...counts],
  });
}
