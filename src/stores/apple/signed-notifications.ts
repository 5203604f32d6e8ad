import type { z } from 'zod';
import { refuse } from '../../errors.ts';
import { appsIn, NotificationPayload, type NamedApp } from './notification-payload.ts';
import type { NewestTransactions } from './newest-transactions.ts';
import type { AppleOptions } from './settings.ts';
import type { SignedTexts } from './signed-texts.ts';
import { BOUGHT, CONSUMABLE, RENEWABLE, RenewalInfo, SANDBOX, soldIdOf, Transaction } from './transactions.ts';

/** The most characters of a notification, and the most bytes of a request that brings one. One of a subscription has some 22,000. */
export const LONGEST = 64 * 1024;

/** The most characters of a text within a notification. */
const LONGEST_INNER = 16 * 1024;

export interface Known {
  readonly texts: SignedTexts;
  readonly newest: NewestTransactions;
}

/** A notification that verifies. */
export interface Told extends NotificationPayload {
  /**
   * The transaction that it is about. Undefined: the notification is about no transaction, or about a transaction of nothing that the
   * service sells.
   */
  readonly transaction: Transaction | undefined;
}

/** Notifications as Apple signs them, whether Apple sent them to the service or keeps them in its history. */
export class SignedNotifications {
  readonly #options: AppleOptions;
  readonly #known: Known;

  constructor(options: AppleOptions, { texts, newest }: Known) {
    this.#options = options;
    this.#known = { texts, newest };
  }

  /** Verifies a notification, and stores the newest transaction that it brings. @throws Refusal `bad_token` */
  async open(signedPayload: string): Promise<Told> {
    const { data: notification } = NotificationPayload.safeParse(await this.#known.texts.read(signedPayload, LONGEST));
    if (notification === undefined) throw badToken('Is not a notification that Apple has signed.');
    const { data } = notification;
    this.#refuseOthers(appsIn(notification));
    const { signedTransactionInfo: signed, signedRenewalInfo: signedRenewal } = data ?? {};
    const transaction = signed === undefined ? undefined : await this.#inner(signed, Transaction);
    const renewal = signedRenewal === undefined ? undefined : await this.#inner(signedRenewal, RenewalInfo);
    if (transaction !== undefined && (transaction.bundleId !== data!.bundleId || transaction.environment !== data!.environment))
      throw badToken('Has a transaction of another app or environment.');
    const isOfAnother = renewal?.originalTransactionId !== transaction?.originalTransactionId || renewal?.environment !== data?.environment;
    if (renewal !== undefined && isOfAnother) throw badToken('Has a renewal of another subscription.');
    const isSold = transaction !== undefined && SOLD.has(transaction.type) && transaction.inAppOwnershipType === BOUGHT;
    if (!isSold) return { ...notification, transaction: undefined };
    const id = soldIdOf(transaction);
    await this.#known.newest.keep(id, transaction);
    if (renewal !== undefined) await this.#known.newest.keepRenewal(id, renewal);
    return { ...notification, transaction };
  }

  /** @throws Refusal `bad_token` for a notification of no app, or of one that is not the service's */
  #refuseOthers(apps: readonly NamedApp[]): void {
    const { bundleIds, appIds } = this.#options.settings();
    // Notifications of Apple's sandbox do not always have the app's id.
    const isOurs = ({ bundleId, environment, appAppleId }: NamedApp): boolean =>
      bundleIds.includes(bundleId) && (environment === SANDBOX || appIds.length === 0 || appIds.some((id) => id === appAppleId));
    if (apps.length === 0 || !apps.every(isOurs)) throw badToken('Is of another app.');
  }

  async #inner<Shape extends z.ZodType>(text: string, shape: Shape): Promise<z.output<Shape>> {
    const { data } = shape.safeParse(await this.#known.texts.read(text, LONGEST_INNER));
    if (data === undefined) throw badToken('Has a text within that Apple has not signed.');
    return data;
  }
}

/** The values of `type` in transactions of the products that the service sells. */
const SOLD = new Set<string>([CONSUMABLE, RENEWABLE]);

const badToken = (message: string) => refuse('bad_token', { message, field: 'signedPayload' });
