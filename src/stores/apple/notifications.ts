import { z } from 'zod';
import { refuse } from '../../errors.ts';
import type { Metrics } from '../../server/metrics.ts';
import type { NotificationEndpoint, Notifications, PurchaseHint } from '../store.ts';
import { appsIn, NotificationPayload, type NamedApp } from './notification-payload.ts';
import type { NewestTransactions } from './newest-transactions.ts';
import type { AppleOptions } from './settings.ts';
import type { SignedTexts } from './signed-texts.ts';
import { BOUGHT, CONSUMABLE, RENEWABLE, RenewalInfo, SANDBOX, soldIdOf, Transaction } from './transactions.ts';

/** The most characters of a notification, and bytes of its request. One of a subscription has some 22,000. */
const LONGEST = 64 * 1024;

/** The most characters of a text within a notification. */
const LONGEST_INNER = 16 * 1024;

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

interface Known {
  readonly texts: SignedTexts;
  readonly newest: NewestTransactions;
}

export class AppleNotifications implements Notifications {
  readonly #options: AppleOptions;
  readonly #known: Known;
  readonly #counts = new Map<string, number>();

  constructor(options: AppleOptions, known: Known) {
    this.#options = options;
    this.#known = known;
    countIn(options.metrics, this.#counts);
  }

  async read({ signedPayload }: z.output<typeof appleNotifications.body>): Promise<readonly PurchaseHint[]> {
    const { data: notification } = NotificationPayload.safeParse(await this.#known.texts.read(signedPayload, LONGEST));
    if (notification === undefined) throw badToken('Is not a notification that Apple has signed.');
    const { notificationType: type, subtype, data } = notification;
    this.#refuseOthers(appsIn(notification));
    const { signedTransactionInfo: signed, signedRenewalInfo: signedRenewal } = data ?? {};
    const transaction = signed === undefined ? undefined : await this.#inner(signed, Transaction);
    const renewal = signedRenewal === undefined ? undefined : await this.#inner(signedRenewal, RenewalInfo);
    if (transaction !== undefined && (transaction.bundleId !== data!.bundleId || transaction.environment !== data!.environment))
      throw badToken('Has a transaction of another app or environment.');
    const isOfAnother = renewal?.originalTransactionId !== transaction?.originalTransactionId || renewal?.environment !== data?.environment;
    if (renewal !== undefined && isOfAnother) throw badToken('Has a renewal of another subscription.');
    const hints = transaction === undefined ? [] : await this.#keep(transaction, renewal);
    this.#count(TYPES.has(type) && (subtype === undefined || SUBTYPES.has(subtype)) ? type : 'unknown', notification);
    return hints;
  }

  /** @throws Refusal `bad_token` for a notification of no app, or of one that is not the service's */
  #refuseOthers(apps: readonly NamedApp[]): void {
    const { bundleIds, appIds } = this.#options.settings();
    // Apple's sandbox does not say the app's id.
    const isOurs = ({ bundleId, environment, appAppleId }: NamedApp): boolean =>
      bundleIds.includes(bundleId) && (environment === SANDBOX || appIds.length === 0 || appIds.some((id) => id === appAppleId));
    if (apps.length === 0 || !apps.every(isOurs)) throw badToken('Is of another app.');
  }

  async #inner<Shape extends z.ZodType>(text: string, shape: Shape): Promise<z.output<Shape>> {
    const { data } = shape.safeParse(await this.#known.texts.read(text, LONGEST_INNER));
    if (data === undefined) throw badToken('Has a text within that Apple has not signed.');
    return data;
  }

  async #keep(transaction: Transaction, renewal: RenewalInfo | undefined): Promise<PurchaseHint[]> {
    const { type, bundleId, inAppOwnershipType, revocationDate } = transaction;
    const kind = type === RENEWABLE ? 'subscription' : type === CONSUMABLE ? 'product' : undefined;
    if (kind === undefined || inAppOwnershipType !== BOUGHT) return [];
    const id = soldIdOf(transaction);
    await this.#known.newest.keep(id, transaction);
    if (renewal !== undefined) await this.#known.newest.keepRenewal(id, renewal);
    return [{ kind, id, packageName: bundleId, mayBeNew: revocationDate === undefined }];
  }

  #count(type: string, { notificationType, subtype, notificationUUID }: NotificationPayload): void {
    this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
    if (type === 'unknown')
      this.#options.log.warn({ notificationType, subtype, notificationUUID }, 'Apple sent a notification of an unknown type');
  }
}

function countIn(metrics: Metrics, counts: ReadonlyMap<string, number>): void {
  metrics.countBy({
    name: 'coinop_apple_notifications_total',
    help: 'Notifications of Apple that verified, by type. Types and subtypes that the service does not know count as unknown.',
    label: 'type',
    counts: () => [...counts],
  });
}

const badToken = (message: string) => refuse('bad_token', { message, field: 'signedPayload' });
