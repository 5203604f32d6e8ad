import type { Logger } from 'pino';
import { z } from 'zod';
import type { Config } from '../config.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';
import type { Metrics } from '../server/metrics.ts';

/**
 * The facts about an app store that the service knows before it opens the store: a row of the table in `store-table.ts`. Each store is a
 * folder next to this file, and a row.
 */
export interface StoreDeclaration {
  /** The name of the store in requests, in the catalogue and in purchases. It is a part of the ids of purchases, so it must never change. */
  readonly name: string;
  /** The fields of a request that hold proofs of a purchase: texts that the app got when its user bought. */
  readonly proofs: Readonly<Record<string, z.ZodOptional<z.ZodString>>>;
  /** The fields of `proofs` that are no secret. With such a proof only the buyer whom the app named to the store can claim the purchase. */
  readonly openProofs?: readonly string[];
  readonly accountIds: AccountIds;
  readonly terms: StoreTerms;
  /** The endpoint at which the store notifies the service of purchases. Undefined: it does not. */
  readonly notifications?: NotificationEndpoint;
  /** Checks the store's settings. If `check` and `open` are undefined, this version of the service cannot open the store. */
  check?(config: Config): StoreCheck;
  /**
   * Opens the store. Only called if `check` found no problem.
   * @param standIn with STORE=sandbox the sandbox, whose settings stand in for the store's
   */
  open?(config: Config, options: OpeningOptions, standIn: object | undefined): AppStore;
}

/**
 * The ids by which apps name an account to a store when its user buys, so that the purchase belongs to the account (`GET
 * /v1/account/store-ids`).
 */
export interface AccountIds {
  /** The field of the reply with the id. */
  readonly field: string;
  readonly shape: z.ZodType<string>;
  /** Derives the account's id for this store from the account id. Undefined: it is the account id. */
  derive?(accountId: string): string;
}

/** Rules of a store about purchases of subscriptions. */
export interface StoreTerms {
  /** For how long after the end of a purchase the store still answers about it, in milliseconds. */
  readonly forgottenAfterMs: number;
  /** The time after which the store refunds a purchase that was not acknowledged, in milliseconds. Undefined: it does not. */
  readonly acknowledgedWithinMs?: number;
}

/** The declaration of an endpoint for notifications; they have a format of the store's own. */
export interface NotificationEndpoint {
  readonly path: `/v1/store/${string}`;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly body: z.ZodObject;
  /**
   * Whether a notification of a new purchase is answered before the service has asked the store about the purchase. The service then keeps
   * the notification, and asks within a second.
   */
  readonly answersFirst?: boolean;
  /** How long a notification may be. Default: as other requests. */
  readonly bodyBounds?: { readonly bytes: number };
  /** The errors of the endpoint's own. */
  readonly errors: readonly ('bad_token' | 'forbidden' | 'store_unconfigured' | 'app_store_unavailable')[];
  readonly deadlineMs: number;
  readonly example: string;
}

/**
 * An app store that is open. Each part (install proofs, subscriptions, products, notifications) is undefined if the store does not offer
 * it, or if settings for it are missing. Endpoints that need the part then answer `store_unconfigured`: the service accepts no token that
 * no store has verified. Callers read a part again for each call, because the sandbox gets its address only when the service listens.
 *
 * While the store does not answer, a method throws the Refusal `app_store_unavailable` (`appStoreUnavailable`): a later call may succeed.
 */
export interface AppStore {
  /** The name of the store's row. */
  readonly name: StoreDeclaration['name'];
  readonly installs: InstallProofs | undefined;
  readonly subscriptions: Subscriptions | undefined;
  readonly products: OneTimeProducts | undefined;
  readonly notifications: Notifications | undefined;
}

export interface Notifications {
  /**
   * Verifies that the store sent a notification, and reads which purchases may have changed.
   * @param authorization the header of the request
   * @throws Refusal `bad_token`, `forbidden`, `invalid_request`
   */
  read(body: object, authorization: string): Promise<readonly PurchaseHint[]>;
}

/**
 * One of the purchases that a notification is about. This is only a hint: the service reads the purchase itself before it changes anything.
 */
export interface PurchaseHint {
  /** Undefined: the notification does not tell the kind. */
  readonly kind: 'subscription' | 'product' | undefined;
  /** The store's own id of the purchase. */
  readonly id: string;
  readonly packageName: string;
  /** Whether the purchase may be new. False: the notification is about an earlier purchase, for example about its refund. */
  readonly mayBeNew: boolean;
  /** Whether the store asks for facts about the purchase because the buyer wants the money back (`OneTimeProducts.tellUse`). */
  readonly asksForUse?: boolean;
}

export interface InstallProofs {
  /**
   * Verifies, within 8 s, that the store attests a genuine install of one of its apps, for this nonce.
   * @param nonce base64url without padding
   * @param traceparent the header of the request, to be sent on to the store
   * @throws Refusal `bad_token` with the field `integrityToken`; `integrity_failed` with the checks that a genuine token did not pass
   */
  verify(token: string, nonce: string, traceparent?: string): Promise<{ readonly packageName: string }>;
}

/** The answer of a store about a purchase. */
export type Answer<Purchase> =
  | Purchase
  /** The store no longer answers about the purchase, which ended long ago. */
  | 'gone'
  /** None of the apps has such a purchase, or the caller must not get anything for it (Apple's family sharing). */
  | 'unknown'
  /** The proof verifies, but the store's API does not know the purchase yet. It is asked again. */
  | 'not_yet';

/** The purchases of one kind that a store sells. */
export interface Sales<Purchase> {
  /** The apps whose purchases the service accepts: package names or bundle ids. Empty: it accepts none. */
  readonly packageNames: readonly string[];
  /**
   * The store's own id of the purchase that a proof names. Mostly found without a call to the store. The id is a proof too.
   * @throws Refusal `bad_token` for a signed proof that does not verify
   */
  idOf(proof: string): string | Promise<string>;
  /**
   * The present state of the purchase at the store, read within 8 s. All of the data comes from the store, none from a notification. A
   * state that cannot be interpreted is treated as an outage of the store: nothing is given or taken away.
   * @param proof what the app got when its user bought: Google's purchase token; Apple's signed transaction, or its id
   * @param packageName the app that must have sold the purchase. Undefined: any of `packageNames`
   * @param traceparent the header of the request, to be sent on to the store
   * @throws Refusal `bad_token` for a signed proof that does not verify
   */
  read(proof: string, packageName?: string, traceparent?: string): Promise<Answer<Purchase>>;
  /**
   * Tells the store, within 4 s, that the buyer has received the purchase. With Google this acknowledges a subscription, and consumes a
   * product so that the user can buy it again; with Apple it finishes the transaction. May be repeated. Never throws: a failure is logged.
   * @returns whether the store accepted that
   */
  acknowledge(purchase: Sold, traceparent?: string): Promise<boolean>;
}

export interface Sold {
  /**
   * The store's own id of the purchase, which the store never gives to another purchase. It is Google's purchase token or Apple's
   * transaction id; for a subscription of Apple's it is the environment and the original transaction id. A purchase token is a secret,
   * because anybody who knows it can claim the purchase.
   */
  readonly id: string;
  readonly packageName: string;
  /** The id of the product in the store. */
  readonly sku: string;
}

export type Subscriptions = Sales<StorePurchase>;

export const storeStates = ['active', 'grace', 'on_hold', 'paused', 'canceled', 'expired', 'pending'] as const;

export type StoreState = (typeof storeStates)[number];

/** The app store's last answer for one subscription. Times are milliseconds since 1970. */
export interface StoreSubscription {
  readonly state: StoreState;
  /** The end of the time that was paid for, in milliseconds since 1970. Undefined while nothing is paid. */
  readonly expiresAt: number | undefined;
  readonly productId: string;
  /** Whether the store will renew the subscription. Undefined for a prepaid plan, which cannot renew. */
  readonly willRenew: boolean | undefined;
  /** When this service sent the request to the store. */
  readonly checkedAt: number;
}

export interface StorePurchase extends StoreSubscription {
  /** The store's own id of the purchase, as in `Sold`. */
  readonly id: string;
  /** The app that sold the subscription. */
  readonly packageName: string;
  /** The buyer's account, by the id that the app gave to the store: Google's obfuscatedExternalAccountId, Apple's appAccountToken. */
  readonly buyer: string | undefined;
  /** The id of the purchase that this purchase replaces, for example in an upgrade. Undefined: it replaces none. */
  readonly linkedId: string | undefined;
  /**
   * The expired purchase that the user has bought again outside the app. Undefined: there is none. Google names the expired purchase until
   * the new one is acknowledged.
   */
  readonly renewed: { readonly id: string | undefined; readonly buyer: string | undefined } | undefined;
  /** When the user bought the subscription; renewals do not change this. Undefined: it is not paid for yet, or the store does not tell. */
  readonly boughtAt: number | undefined;
  /** The number of the purchase's last payment in the store's console. Undefined: there was no payment. */
  readonly orderId: string | undefined;
  /** Whether the purchase of `linkedId` is no longer valid, as soon as this purchase is paid for. */
  readonly retires: boolean;
  /** Whether the purchase needs no acknowledgement any more, because it was acknowledged or never needed one. */
  readonly acknowledged: boolean;
  /** Whether nobody paid for it. See `ProductPurchase`. */
  readonly isTest: boolean;
}

/** One-time products that a user may buy again and again, such as coins. */
export interface OneTimeProducts extends Sales<ProductPurchase> {
  /**
   * The purchases that the store has refunded, in whole or in part, since a time. They come page by page and in no order. A purchase may
   * come several times. Purchases of other services and of subscriptions may be among them.
   * @param since milliseconds since 1970. A store's list may not go back that far (Google's has the last 30 days)
   * @throws Refusal `app_store_unavailable`
   */
  refunds(since: number): AsyncIterable<readonly Refund[]>;
  /**
   * Tells the store, within 4 s, whether the buyer who wants the money back has received and used the purchase (Apple's consumption
   * information). Only called if the store has asked about the purchase (`PurchaseHint.asksForUse`), at most USE_TOLD_WITHIN_MS later.
   * Never throws: a failure is logged.
   * @returns whether the store accepted that
   */
  tellUse?(purchase: Sold, use: Use): Promise<boolean>;
  /**
   * Milliseconds between two calls of `refunds`. If the notification of a refund was lost, the service learns of the refund after this time
   * at the latest.
   */
  readonly askEveryMs: number;
}

/** How long after its question a store accepts facts about a purchase, in milliseconds. Apple decides after twelve hours. */
export const USE_TOLD_WITHIN_MS = 12 * 3_600_000;

/** What the ledger knows of a purchase. */
export interface Use {
  /** Whether the buyer's account received the coins. */
  readonly isGranted: boolean;
  /** The part of these coins that has surely been spent, from 0 to 1. The rest is in the balance, which may also hold other coins. */
  readonly spent: number;
}

export const productStates = ['pending', 'purchased', 'canceled'] as const;

/** The states of a purchase. `canceled`: the purchase was never paid for, or was taken back as a whole. */
export type ProductState = (typeof productStates)[number];

/** The app store's last answer for one purchase of a one-time product. */
export interface ProductPurchase extends Sold {
  readonly state: ProductState;
  /** The number of units that were bought, 1 or more. */
  readonly quantity: number;
  /**
   * The number of units that were refunded so far in all refunds together. So repeated and outdated answers change nothing. It is a
   * fraction if the store refunded a part of a unit (Apple's `revocationPercentage`). Undefined: the store's answer does not tell.
   */
  readonly refundedQuantity: number | undefined;
  /** The number of the purchase in the store's console. Undefined: the purchase has none yet. */
  readonly orderId: string | undefined;
  /** The buyer's account, by the id that the app gave to the store: Google's obfuscatedExternalAccountId, Apple's appAccountToken. */
  readonly buyer: string | undefined;
  /** Whether the store has recorded that the buyer received the purchase. Google records it when the service consumes the purchase. */
  readonly isFinished: boolean;
  /** Whether nobody paid for the purchase, because a licence tester made it or it was made in the store's own sandbox. */
  readonly isTest: boolean;
  /** When this service sent the request to the store, in milliseconds since 1970. */
  readonly checkedAt: number;
}

/** A refund in the store's list. This is only a hint: the service reads the purchase itself before it takes coins. */
export interface Refund {
  readonly id: string;
  /** The number of units that this refund covers. Undefined: all units. */
  readonly quantity: number | undefined;
  /** When the store refunded the units, in milliseconds since 1970. The refund may appear in the store's list hours later. */
  readonly at: number;
}

/**
 * The most characters of a store's token. Tokens have a few hundred bytes to a few KiB. A longer text is not a token, and is not decoded.
 */
export const MAX_TOKEN_LENGTH = 8192;

/**
 * A purchase token, which becomes a segment of the path of a store's URL. Percent-encoding does not change `.` and `..`, and URL parsers
 * resolve them. Such a token would make the service request another path, and the answer would look like an outage of the app store.
 */
export const PurchaseToken = z
  .string()
  .regex(/^(?!\.{1,2}$)[\x21-\x7e]{1,1024}$/, 'Must be 1 to 1024 visible ASCII characters')
  .meta({ description: 'The purchase token that the app store gave to the app.' });

/** The options of every store. */
export interface StoreOptions {
  readonly log: Logger;
  /** The present time by Redis's clock, in milliseconds since 1970, for times that Redis keeps. */
  readonly now: () => number;
  /**
   * The present time by this machine's clock, in milliseconds since 1970, for times in the store's tokens and times that its servers check.
   */
  readonly wallClock: () => number;
  /** The present time on a monotonic clock, in milliseconds. */
  readonly monotonic: () => number;
}

/** The options with which a store is opened. */
export interface OpeningOptions extends StoreOptions {
  /** For what a store keeps in Redis. */
  readonly scripts: ScriptRunner;
  readonly metrics: Metrics;
}

/** The result of checking the store's settings before the store is opened. */
export interface StoreCheck {
  /** Problems of settings that stop the start of the service, one line for each, which begins with the setting's name. */
  readonly problems: readonly string[];
  /** The features that the store lacks because settings are missing: `purchases (GOOGLE_PACKAGE_NAMES, …)`. */
  readonly missing: readonly string[];
  readonly provesInstalls: boolean;
}
