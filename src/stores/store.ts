import type { Logger } from 'pino';
import { z } from 'zod';

/**
 * The interface of an app store. Each store has a folder next to this file, and `stores.ts` opens the store that the
 * setting STORE names.
 *
 * A part is undefined where the store lacks it, or lacks its settings. Endpoints that need it then answer `store_unconfigured`, because
 * a token that no store verified must never count. The sandbox knows its address only once the service listens, so callers ask for a
 * part in each call.
 *
 * A store that sends notifications of changed purchases has an endpoint in its folder, with the path and format of that store. That endpoint
 * verifies the sender, and names the purchase to `Services.subscriptionNoticed` or `Services.productNoticed` (a one-time product).
 *
 * While the store does not answer, a method throws the Refusal `app_store_unavailable` (`appStoreUnavailable`): a later call may succeed.
 */
export interface AppStore {
  /** Part of the ids of its users' accounts, so it must never change, and differ from `account` and `purchase` (`storeAccountIdOf`). */
  readonly name: string;
  readonly signIn: SignIn | undefined;
  readonly installs: InstallProofs | undefined;
  readonly subscriptions: Subscriptions | undefined;
  readonly products: OneTimeProducts | undefined;
}

export interface SignIn {
  /** @throws Refusal `bad_token` with the field `token` */
  verify(token: string): Promise<StoreIdentity>;
}

export interface StoreIdentity {
  /** The store's id of the user: no blank in it, never changed, never given to another user. */
  readonly subject: string;
  /** Milliseconds since 1970: when the user signed in, or the app refreshed its token. */
  readonly issuedAt: number;
}

export interface InstallProofs {
  /**
   * Verifies, within 8 s, that the store attests a genuine install of one of its apps, for this nonce.
   * @param nonce base64url without padding
   * @param traceparent of the request, for the store
   * @throws Refusal `bad_token` with the field `integrityToken`; `integrity_failed` with the checks that a genuine token did not pass
   */
  verify(token: string, nonce: string, traceparent?: string): Promise<{ readonly packageName: string }>;
}

export interface Subscriptions {
  /** The apps whose purchases it accepts: package names or bundle ids. Empty: it accepts none. */
  readonly packageNames: readonly string[];
  /**
   * The purchase as the store has it now, within 8 s. `gone`: it expired so long ago that the store no longer answers for it. `unknown`:
   * none of the apps has such a purchase. A state that is not understood counts as an outage: it neither gives access nor takes it away.
   * @param packageName the app that must have sold it. Undefined: any of `packageNames`
   * @param traceparent of the request, for the store
   */
  read(token: string, packageName?: string, traceparent?: string): Promise<StorePurchase | 'gone' | 'unknown'>;
  /**
   * Tells the store, within 4 s, that the buyer has what was bought. May be repeated, and logs why it fails. Never throws.
   * @returns whether the store accepted it
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
  /** Undefined while nothing is paid. */
  readonly expiresAt: number | undefined;
  readonly productId: string;
  /** Undefined for a prepaid plan, which cannot renew. */
  readonly willRenew: boolean | undefined;
  /** When this service sent the request. */
  readonly checkedAt: number;
}

export interface StorePurchase extends StoreSubscription {
  /** The app that sold it. */
  readonly packageName: string;
  /** The buyer's account, as the app named it to the store: Google's obfuscatedExternalAccountId. */
  readonly buyer: string | undefined;
  /** The token of the purchase that this one replaces, as in an upgrade. Undefined: it replaces none. */
  readonly linkedToken: string | undefined;
  /**
   * The expired purchase that a user has bought again outside the app. Undefined: none. Google names it until the purchase is
   * acknowledged.
   */
  readonly renewed: { readonly token: string | undefined; readonly buyer: string | undefined } | undefined;
  /** When it was paid for. Undefined: it was not yet, or the store does not say. */
  readonly boughtAt: number | undefined;
  /** The number of its last payment in the store's console. Undefined: it has none. */
  readonly orderId: string | undefined;
  /** Whether the replacement is in force: only once this purchase is paid for. */
  readonly retires: boolean;
  /** True as well for a purchase that needs no acknowledgement. */
  readonly acknowledged: boolean;
}

/** One-time products that may be bought again and again: coins. */
export interface OneTimeProducts {
  /** The name of the store in the catalogue's products and in requests. */
  readonly sellsAs: SellingStore;
  /** The apps whose purchases it accepts, as of `Subscriptions`. Empty: it accepts none. */
  readonly packageNames: readonly string[];
  /**
   * The purchase as the store has it now, within 8 s. All of its data comes from the store, none from the proof or from a notification.
   * `unknown`: none of the apps has such a purchase, or it must not count for the caller (Apple's family sharing). A state that is not
   * understood counts as an outage: it neither gives coins nor takes them.
   * @param proof what the app got when its user bought: Google's purchase token; Apple's signed transaction, or its id. The `id` of a
   * purchase is a proof too
   * @param packageName the app that must have sold it. Undefined: any of `packageNames`
   * @param traceparent of the request, for the store
   * @throws Refusal `bad_token` for a signed proof that does not verify
   */
  read(proof: string, packageName?: string, traceparent?: string): Promise<ProductPurchase | 'unknown'>;
  /**
   * Tells the store, within 4 s, that the buyer has what was bought: Google's consumption, which also lets the user buy the product again;
   * Apple's finish. May be repeated, and logs why it fails. Never throws.
   * @returns whether the store accepted it
   */
  finish(purchase: SoldProduct, traceparent?: string): Promise<boolean>;
  /**
   * The purchases that the store has refunded in whole or in part since a time, page by page and in no order. A purchase may come several
   * times, and purchases of other services and of subscriptions may be among them.
   * @param since milliseconds since 1970. A store may list less (Google: the last 30 days)
   * @throws Refusal `app_store_unavailable`
   */
  takenBack(since: number): AsyncIterable<readonly TakenBack[]>;
  /** How often to ask for `takenBack`, in milliseconds: the delay of a refund whose notification was lost. */
  readonly askEveryMs: number;
}

export interface SoldProduct {
  /**
   * The store's own id of the purchase, which it never gives to another one: Google's purchase token, Apple's transaction id. A purchase
   * token is a secret: it claims the purchase.
   */
  readonly id: string;
  readonly packageName: string;
  /** The store's id of the product. */
  readonly sku: string;
}

export const productStates = ['pending', 'purchased', 'canceled'] as const;

/** `canceled`: never paid for, or taken back as a whole. */
export type ProductState = (typeof productStates)[number];

/** The app store's last answer for one purchase of a one-time product. */
export interface ProductPurchase extends SoldProduct {
  readonly state: ProductState;
  /** Units that were bought, 1 or more. */
  readonly quantity: number;
  /**
   * Units that were refunded in sum, so that repeated and late answers change nothing. A fraction where the store refunds a part of a unit
   * (Apple's `revocationPercentage`). Undefined: this answer does not count refunds.
   */
  readonly refundedQuantity: number | undefined;
  /** The number of the purchase in the store's console. Undefined: it has none yet. */
  readonly orderId: string | undefined;
  /** The buyer's account, as the app named it to the store: Google's obfuscatedExternalAccountId, Apple's appAccountToken. */
  readonly buyer: string | undefined;
  /** The store knows that the buyer has what was bought. */
  readonly isFinished: boolean;
  /** Nobody paid for it: a licence tester's, or one of the store's own sandbox. */
  readonly isTest: boolean;
  /** When this service sent the request, in milliseconds since 1970. */
  readonly checkedAt: number;
}

/** A refund in the store's list. Only a hint: the purchase itself has to be checked. */
export interface TakenBack {
  readonly id: string;
  /** Units of one refund. Undefined: all. */
  readonly quantity: number | undefined;
  /** When the store refunded them, in milliseconds since 1970. The entry may appear in its list hours later. */
  readonly at: number;
}

/** In characters. The tokens of stores are a few hundred bytes to a few KiB: a longer text is no token, and is not decoded. */
export const MAX_TOKEN_LENGTH = 8192;

/**
 * The token becomes a path segment of a store's URL. Percent-encoding leaves `.` and `..` as they are and URL parsers resolve them, so
 * such a token would request another path, whose answer would look like an outage of the app store.
 */
export const PurchaseToken = z
  .string()
  .regex(/^(?!\.{1,2}$)[\x21-\x7e]{1,1024}$/, 'Must be 1 to 1024 visible ASCII characters')
  .meta({ description: 'The purchase token that the app store gave to the app.' });

/** The app stores that sell products. A request, a product of the catalogue and a purchase name them alike; the sandbox sells as Google. */
export const SELLING_STORES = ['google', 'apple'] as const;

export type SellingStore = (typeof SELLING_STORES)[number];

/** The options of every store. */
export interface StoreOptions {
  readonly log: Logger;
  /** Milliseconds since 1970, by Redis's clock: for times that Redis keeps. */
  readonly now: () => number;
  /** Milliseconds since 1970, by this machine's clock: for times that the store's servers check, or that their tokens have. */
  readonly wallClock: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
}

/** Result of checking the store's settings before it opens. */
export interface StoreCheck {
  /** Settings that stop the start: a line each, the setting's name first. */
  readonly problems: readonly string[];
  /** The abilities that the store lacks for want of settings: `purchases (GOOGLE_PACKAGE_NAMES, …)`. */
  readonly missing: readonly string[];
  readonly provesInstalls: boolean;
}
