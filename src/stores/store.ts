import type { Logger } from 'pino';
import { z } from 'zod';

/**
 * The interface of an app store. Each store has a folder next to this file, and `stores.ts` opens the store that the setting STORE names.
 *
 * A part (install proofs, subscriptions, products) is undefined if the store does not have it, or if settings for it are missing.
 * Endpoints that need the part then answer `store_unconfigured`, because a token that no store verified must never be accepted. The sandbox
 * knows its address only once the service listens, so callers read a part anew for each call.
 *
 * A store that sends notifications of changed purchases has an endpoint in its folder, with the path and format of that store. That
 * endpoint verifies the sender, and names the purchase to `Services.subscriptionNoticed` or `Services.productNoticed` (a one-time product).
 *
 * While the store does not answer, a method throws the Refusal `app_store_unavailable` (`appStoreUnavailable`): a later call may succeed.
 */
export interface AppStore {
  readonly name: string;
  readonly installs: InstallProofs | undefined;
  readonly subscriptions: Subscriptions | undefined;
  readonly products: OneTimeProducts | undefined;
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

export interface Subscriptions {
  /** The apps whose purchases the service accepts: package names or bundle ids. Empty: it accepts none. */
  readonly packageNames: readonly string[];
  /**
   * The purchase as the store has it now, read within 8 s. `gone`: the subscription expired so long ago that the store no longer answers
   * for it. `unknown`: none of the apps has such a purchase. A state that is not understood is treated as an outage of the store: access is
   * neither given nor taken away.
   * @param packageName the app that must have sold the subscription. Undefined: any of `packageNames`
   * @param traceparent the header of the request, to be sent on to the store
   */
  read(token: string, packageName?: string, traceparent?: string): Promise<StorePurchase | 'gone' | 'unknown'>;
  /**
   * Tells the store, within 4 s, that the buyer has what was bought. May be repeated. Never throws: a failure is logged.
   * @returns whether the store accepted the acknowledgement
   */
  acknowledge(purchase: Bought, traceparent?: string): Promise<boolean>;
}

export interface Bought {
  readonly packageName: string;
  readonly productId: string;
  readonly token: string;
}

export const storeStates = ['active', 'grace', 'on_hold', 'paused', 'canceled', 'expired', 'pending'] as const;

export type StoreState = (typeof storeStates)[number];

/** The app store's last answer for one subscription. Times are milliseconds since 1970. */
export interface StoreSubscription {
  readonly state: StoreState;
  /** When the paid time ends, in milliseconds since 1970. Undefined while nothing is paid. */
  readonly expiresAt: number | undefined;
  readonly productId: string;
  /** Whether the store will renew the subscription. Undefined for a prepaid plan, which cannot renew. */
  readonly willRenew: boolean | undefined;
  /** When this service sent the request to the store. */
  readonly checkedAt: number;
}

export interface StorePurchase extends StoreSubscription {
  /** The app that sold the subscription. */
  readonly packageName: string;
  /** The buyer's account, as the app named it to the store: Google's obfuscatedExternalAccountId. */
  readonly buyer: string | undefined;
  /** The token of the purchase that this purchase replaces, as in an upgrade. Undefined: it replaces none. */
  readonly linkedToken: string | undefined;
  /**
   * The expired purchase that a user has bought again outside the app. Undefined: there is none. Google names the expired purchase until
   * the new one is acknowledged.
   */
  readonly renewed: { readonly token: string | undefined; readonly buyer: string | undefined } | undefined;
  /** When the purchase was paid for. Undefined: it was not paid for yet, or the store does not say. */
  readonly boughtAt: number | undefined;
  /** The number of the purchase's last payment in the store's console. Undefined: there was no payment. */
  readonly orderId: string | undefined;
  /** Whether the purchase of `linkedToken` is no longer valid: only once this purchase is paid for. */
  readonly retires: boolean;
  /** Whether the purchase needs no acknowledgement any more: it was acknowledged, or never needed it. */
  readonly acknowledged: boolean;
}

/** One-time products that a user may buy again and again, such as coins. */
export interface OneTimeProducts {
  /** The name of this store, as the catalogue's products and requests have it. */
  readonly sellsAs: SellingStore;
  /** The apps whose purchases the service accepts, as in `Subscriptions`. Empty: it accepts none. */
  readonly packageNames: readonly string[];
  /**
   * The purchase as the store has it now, read within 8 s. All of its data comes from the store, none from the proof or from a
   * notification. `unknown`: none of the apps has such a purchase, or the caller must not get anything for it (Apple's family sharing). A
   * state that is not understood is treated as an outage of the store: no coins are given or taken.
   * @param proof what the app got when its user bought: Google's purchase token; Apple's signed transaction, or its id. The `id` of a
   * purchase is a proof too
   * @param packageName the app that must have sold the product. Undefined: any of `packageNames`
   * @param traceparent the header of the request, to be sent on to the store
   * @throws Refusal `bad_token` for a signed proof that does not verify
   */
  read(proof: string, packageName?: string, traceparent?: string): Promise<ProductPurchase | 'unknown'>;
  /**
   * Tells the store, within 4 s, that the buyer has what was bought: Google's consumption, which also lets the user buy the product again;
   * Apple's finish. May be repeated. Never throws: a failure is logged.
   * @returns whether the store accepted that
   */
  finish(purchase: SoldProduct, traceparent?: string): Promise<boolean>;
  /**
   * The purchases that the store has refunded in whole or in part since a time, page by page and in no order. A purchase may come several
   * times, and purchases of other services and of subscriptions may be among them.
   * @param since milliseconds since 1970. A store's list may not go back that far (Google's has the last 30 days)
   * @throws Refusal `app_store_unavailable`
   */
  takenBack(since: number): AsyncIterable<readonly TakenBack[]>;
  /** Milliseconds between two calls of `takenBack`: so late may a refund be noticed whose notification was lost. */
  readonly askEveryMs: number;
}

export interface SoldProduct {
  /**
   * The store's own id of the purchase, which the store never gives to another purchase: Google's purchase token, Apple's transaction id. A
   * purchase token is a secret, because whoever knows it can claim the purchase.
   */
  readonly id: string;
  readonly packageName: string;
  /** The id of the product in the store. */
  readonly sku: string;
}

export const productStates = ['pending', 'purchased', 'canceled'] as const;

/** The states of a purchase. `canceled`: the purchase was never paid for, or was taken back as a whole. */
export type ProductState = (typeof productStates)[number];

/** The app store's last answer for one purchase of a one-time product. */
export interface ProductPurchase extends SoldProduct {
  readonly state: ProductState;
  /** The number of units that were bought, 1 or more. */
  readonly quantity: number;
  /**
   * The number of units that were refunded so far, all refunds together, so that repeated and outdated answers change nothing. A fraction
   * if the store refunded a part of a unit (Apple's `revocationPercentage`). Undefined: the store's answer does not say.
   */
  readonly refundedQuantity: number | undefined;
  /** The number of the purchase in the store's console. Undefined: the purchase has none yet. */
  readonly orderId: string | undefined;
  /** The buyer's account, as the app named it to the store: Google's obfuscatedExternalAccountId, Apple's appAccountToken. */
  readonly buyer: string | undefined;
  /** Whether the store has recorded that the buyer received the purchase. Google records it when the service consumes the purchase. */
  readonly isFinished: boolean;
  /** Whether nobody paid for the purchase: it is a licence tester's, or was made in the store's own sandbox. */
  readonly isTest: boolean;
  /** When this service sent the request to the store, in milliseconds since 1970. */
  readonly checkedAt: number;
}

/** A refund in the store's list. It is only a hint: the service reads the purchase itself before it takes coins. */
export interface TakenBack {
  readonly id: string;
  /** The number of units that this refund covers. Undefined: all units. */
  readonly quantity: number | undefined;
  /** When the store refunded the units, in milliseconds since 1970. The refund may appear in the store's list hours later. */
  readonly at: number;
}

/**
 * The most characters of a store's token. Tokens have a few hundred bytes to a few KiB; a longer text is not a token, and is not decoded.
 */
export const MAX_TOKEN_LENGTH = 8192;

/**
 * A purchase token, which becomes a segment of the path of a store's URL. Percent-encoding does not change `.` and `..`, and URL parsers
 * resolve them. Such a token would make the service request another path, whose answer would seem to be an outage of the app store.
 */
export const PurchaseToken = z
  .string()
  .regex(/^(?!\.{1,2}$)[\x21-\x7e]{1,1024}$/, 'Must be 1 to 1024 visible ASCII characters')
  .meta({ description: 'The purchase token that the app store gave to the app.' });

/**
 * The names of the app stores that sell products, as a request, a product of the catalogue and a purchase have them. The sandbox sells
 * under Google's name.
 */
export const SELLING_STORES = ['google', 'apple'] as const;

export type SellingStore = (typeof SELLING_STORES)[number];

/** The options of every store. */
export interface StoreOptions {
  readonly log: Logger;
  /** The present time by Redis's clock, in milliseconds since 1970: for times that Redis keeps. */
  readonly now: () => number;
  /**
   * The present time by this machine's clock, in milliseconds since 1970: for times that the store's servers check, or that their tokens
   * have.
   */
  readonly wallClock: () => number;
  /** The present time on a monotonic clock, in milliseconds. */
  readonly monotonic: () => number;
}

/** The result of checking the store's settings before the store is opened. */
export interface StoreCheck {
  /** Problems of settings that stop the start of the service: a line for each, which begins with the setting's name. */
  readonly problems: readonly string[];
  /** The abilities that the store lacks because settings are missing: `purchases (GOOGLE_PACKAGE_NAMES, …)`. */
  readonly missing: readonly string[];
  readonly provesInstalls: boolean;
}
