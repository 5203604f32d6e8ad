import type { z } from 'zod';
import { refuse, Refusal } from '../../errors.ts';
import { LruCache } from '../../server/lru-cache.ts';
import { UNKNOWN_STATE_MS } from '../store-calls.ts';
import { appStoreUnavailable, storeUnconfigured } from '../store-refusals.ts';
import {
  MAX_TOKEN_LENGTH,
  type Answer,
  type OneTimeProducts,
  type ProductPurchase,
  type Refund,
  type Sales,
  type Sold,
  type StorePurchase,
  type Use,
} from '../store.ts';
import type { NewestTransactions } from './newest-transactions.ts';
import type { App, ServerApi } from './server-api.ts';
import type { AppleOptions } from './settings.ts';
import { SignedNotifications } from './signed-notifications.ts';
import type { SignedTexts } from './signed-texts.ts';
import {
  boughtAtOf,
  BOUGHT,
  CONSUMABLE,
  Environment,
  refundedUnits,
  RENEWABLE,
  RenewalInfo,
  SANDBOX,
  soldIdOf,
  Transaction,
  WHOLE_PERCENTAGE,
} from './transactions.ts';

export interface Known {
  readonly texts: SignedTexts;
  readonly newest: NewestTransactions;
  readonly api: ServerApi;
}

/** Milliseconds between two questions for refunds without the API's keys. Nothing is asked then. */
const ASK_EVERY_MS = 15 * 60_000;

/** Milliseconds after which a failed environment is the last that is asked. A key that Apple refuses fails at once. */
const FIRST_GROUP_MS = 2000;

/** The most ids of transactions whose subscriptions are kept: the second step of a request needs what the first has found. */
const MOST_FOUND = 1000;

/**
 * Purchases of one kind in the App Store. Signed transactions prove them. With the API's keys Apple is asked for the present transaction;
 * without, what Apple has signed before decides.
 */
abstract class AppleSales<Purchase> implements Sales<Purchase> {
  protected readonly options: AppleOptions;
  protected readonly known: Known;
  /** The `type` of these transactions. */
  readonly #type: string;
  /** The store's own ids of purchases, by the bare ids of transactions. They never change. */
  readonly #found = new LruCache<string, string>(MOST_FOUND);

  constructor(options: AppleOptions, known: Known, type: string) {
    this.options = options;
    this.known = known;
    this.#type = type;
  }

  get packageNames(): readonly string[] {
    return this.options.settings().bundleIds;
  }

  /** @throws Refusal `bad_token`; `store_unconfigured` for the bare id of a subscription's transaction, which only Apple could explain */
  async idOf(proof: string): Promise<string> {
    if (isSigned(proof)) return soldIdOf(await this.#verify(proof));
    if (this.#type !== RENEWABLE || proof.includes(':')) return proof;
    const known = this.#found.get(proof);
    if (known !== undefined) return known;
    const transaction = await this.#search(proof);
    if (transaction === undefined || !this.#sells(transaction))
      throw refuse('bad_token', { message: 'The store knows no such purchase of this app.', field: 'transactionId' });
    const id = soldIdOf(transaction);
    this.#found.set(proof, id);
    return id;
  }

  async read(proof: string, packageName?: string, traceparent?: string): Promise<Answer<Purchase>> {
    const shown = isSigned(proof) ? await this.#verify(proof) : undefined;
    if (shown !== undefined && !this.#sells(shown)) return 'unknown';
    // A verified text is kept before Apple is asked, and counts if Apple does not know the transaction yet.
    const id = shown === undefined ? await this.idOf(proof) : soldIdOf(shown);
    const kept = shown === undefined ? await this.known.newest.find(id) : await this.known.newest.keep(id, shown);
    const newest = (await this.#asked(id, kept?.transaction, packageName, traceparent)) ?? kept;
    if (newest === undefined) return 'unknown';
    const { transaction, renewal } = newest;
    if (!this.#sells(transaction) || (packageName !== undefined && transaction.bundleId !== packageName)) return 'unknown';
    return this.purchaseOf(transaction, renewal);
  }

  protected abstract purchaseOf(transaction: Transaction, renewal: RenewalInfo | undefined): Purchase;

  /** Asks Apple for the present texts about a purchase. Undefined: Apple knows no such purchase. @param id the store's own id of it */
  protected abstract ask(id: string, app: App, traceparent: string | undefined): Promise<Asked | undefined>;

  /** The app finishes its transactions: Apple asks servers for nothing. */
  async acknowledge(_purchase: Sold, _traceparent?: string): Promise<boolean> {
    return true;
  }

  /**
   * Asks Apple about a purchase, and keeps the answer.
   * @param kept what Apple has signed before. It names the app and the environment
   * @returns undefined: Apple does not know the purchase, or cannot be asked
   * @throws Refusal `store_unconfigured`: nothing that Apple signed has told of this id, and Apple cannot be asked
   */
  async #asked(id: string, kept: Transaction | undefined, packageName: string | undefined, traceparent: string | undefined) {
    const { api, newest } = this.known;
    if (!api.isOpen) {
      if (kept === undefined) throw storeUnconfigured();
      return undefined;
    }
    const asked = await this.#firstOf(appsOf(id, kept, packageName, this.packageNames), (app) => this.ask(id, app, traceparent));
    if (asked === undefined || soldIdOf(asked.transaction) !== id) return undefined;
    if (asked.renewal !== undefined) await newest.keepRenewal(id, asked.renewal);
    return newest.keep(id, asked.transaction);
  }

  /** Asks Apple for the transaction with a bare id. Undefined: none of the apps has it. @throws Refusal `store_unconfigured` */
  async #search(transactionId: string): Promise<Transaction | undefined> {
    if (!this.known.api.isOpen) throw storeUnconfigured();
    return this.#firstOf(appsOf(transactionId, undefined, undefined, this.packageNames), (app) => this.transactionIn(app, transactionId));
  }

  /** The transaction with an id, as Apple has it now. Undefined: the app has none. */
  protected async transactionIn(app: App, transactionId: string, traceparent?: string): Promise<Transaction | undefined> {
    const text = await this.known.api.transaction(app, transactionId, traceparent);
    const transaction = text === undefined ? undefined : await this.opened(text, Transaction);
    return transaction?.transactionId === transactionId ? transaction : undefined;
  }

  /** What Apple's API has signed. @throws Refusal `app_store_unavailable` if it does not verify, because the API is then at fault */
  protected async opened<Shape extends z.ZodType>(text: string, shape: Shape): Promise<z.output<Shape>> {
    const { data } = shape.safeParse(await this.known.texts.read(text, MAX_TOKEN_LENGTH));
    if (data !== undefined) return data;
    this.options.log.error("a text of Apple's API does not verify");
    throw appStoreUnavailable(UNKNOWN_STATE_MS);
  }

  /** The first answer about any of the apps, which are asked in groups. @throws what a question throws, if no other one has an answer */
  async #firstOf<Found>(groups: readonly (readonly App[])[], ask: (app: App) => Promise<Found | undefined>): Promise<Found | undefined> {
    let failure: unknown;
    const endsAt = performance.now() + FIRST_GROUP_MS;
    for (const apps of groups) {
      // The request has a deadline, and an environment that fails slowly leaves no time for the next.
      if (failure !== undefined && performance.now() > endsAt) break;
      const answers = await Promise.allSettled(apps.map(ask));
      for (const answer of answers) {
        if (answer.status === 'rejected') failure ??= answer.reason;
        else if (answer.value !== undefined) return answer.value;
      }
    }
    if (failure !== undefined) throw failure;
    return undefined;
  }

  #sells({ bundleId, type, inAppOwnershipType }: Transaction): boolean {
    return type === this.#type && inAppOwnershipType === BOUGHT && this.packageNames.includes(bundleId);
  }

  async #verify(text: string): Promise<Transaction> {
    const { data, error } = Transaction.safeParse(await this.known.texts.read(text, MAX_TOKEN_LENGTH));
    if (data !== undefined) return data;
    this.options.log.info({ reason: error?.issues[0]?.path.join('.') }, 'a signed transaction does not verify');
    throw refuse('bad_token', { message: 'Is not a transaction that Apple has signed.', field: 'transaction' });
  }
}

interface Asked {
  readonly transaction: Transaction;
  readonly renewal?: RenewalInfo | undefined;
}

/**
 * The apps and environments in which a purchase may be: those of a group are asked at once. Purchases with money come first, and the
 * sandbox only if there is none.
 */
function appsOf(id: string, kept: Transaction | undefined, packageName: string | undefined, all: readonly string[]): App[][] {
  if (kept !== undefined) return [[{ bundleId: kept.bundleId, environment: kept.environment }]];
  const environments = Environment.options.filter((environment) => !id.includes(':') || id.startsWith(`${environment}:`));
  const bundleIds = packageName === undefined ? all : [packageName];
  return environments.map((environment) => bundleIds.map((bundleId) => ({ bundleId, environment })));
}

const isSigned = (proof: string): boolean => proof.includes('.');

/** Consumables, which players may buy again and again. */
export class AppleProducts extends AppleSales<ProductPurchase> implements OneTimeProducts {
  readonly #notifications: SignedNotifications;

  constructor(options: AppleOptions, known: Known) {
    super(options, known, CONSUMABLE);
    this.#notifications = new SignedNotifications(options, known);
  }

  get askEveryMs(): number {
    return this.options.settings().api?.askForRefundsEveryMs ?? ASK_EVERY_MS;
  }

  protected async ask(id: string, app: App, traceparent: string | undefined) {
    const transaction = await this.transactionIn(app, id, traceparent);
    return transaction && { transaction };
  }

  /** Tells Apple that the buyer has the coins, so that the app need not finish the transaction. */
  override async acknowledge({ id, packageName }: Sold, traceparent?: string): Promise<boolean> {
    const { api } = this.known;
    if (!api.isOpen) return true;
    return this.#told('the buyer has it', async () => api.finish(await this.#appOf(id, packageName), id, traceparent));
  }

  /** Only facts of the ledger. Whether to grant the refund, coinop leaves to Apple. */
  async tellUse({ id, packageName }: Sold, { isGranted, spent }: Use): Promise<boolean> {
    const told = {
      customerConsented: true,
      sampleContentProvided: false,
      deliveryStatus: isGranted ? 'DELIVERED' : 'UNDELIVERED_OTHER',
      ...(isGranted ? { consumptionPercentage: Math.round(spent * WHOLE_PERCENTAGE) } : {}),
    };
    return this.#told('what became of it', async () => this.known.api.tellConsumption(await this.#appOf(id, packageName), id, told));
  }

  async #appOf(id: string, bundleId: string): Promise<App> {
    const { environment = 'Production' } = (await this.known.newest.find(id))?.transaction ?? {};
    return { bundleId, environment };
  }

  /** Tells Apple something of a purchase. @returns whether Apple has it */
  async #told(what: string, tell: () => Promise<boolean>): Promise<boolean> {
    const { log } = this.options;
    try {
      if (await tell()) return true;
      log.info({ what }, 'Apple does not know a purchase yet, and cannot be told of it: the next check tries again');
    } catch (error) {
      log.warn({ what, reason: (error as Error).message }, 'Apple could not be told of a purchase: the next check tries again');
    }
    return false;
  }

  protected purchaseOf(transaction: Transaction): ProductPurchase {
    const { transactionId, bundleId, productId, quantity, appAccountToken, environment } = transaction;
    return {
      id: transactionId,
      packageName: bundleId,
      sku: productId,
      state: 'purchased',
      quantity,
      refundedQuantity: refundedUnits(transaction),
      orderId: transactionId,
      buyer: appAccountToken,
      isFinished: !this.known.api.isOpen,
      isTest: environment === SANDBOX,
      checkedAt: this.options.now(),
    };
  }

  /** Reads Apple's history of notifications, in both environments. Without the API's keys signed texts alone tell of refunds. */
  async *refunds(since: number): AsyncGenerator<readonly Refund[]> {
    if (!this.known.api.isOpen) return;
    let failure: unknown;
    for (const app of appsOf('', undefined, undefined, this.packageNames).flat()) {
      try {
        for (const type of REFUND_TYPES) {
          for await (const page of this.known.api.notifications(app, type, since)) yield await this.#refundsIn(page);
        }
      } catch (error) {
        // The keys may lack rights for one app. The list is still read for the next apps.
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
  }

  async #refundsIn(page: readonly string[]): Promise<readonly Refund[]> {
    const refunds: Refund[] = [];
    for (const text of page) {
      const told = await this.#notifications.open(text).catch((error: unknown) => {
        if (!(error instanceof Refusal) || error.code !== 'bad_token') throw error;
        this.options.log.warn({ reason: error.message }, "a notification of Apple's history is ignored");
      });
      if (told?.transaction?.type !== CONSUMABLE) continue;
      const { transaction } = told;
      const { revocationDate: at = told.signedDate } = transaction;
      refunds.push({ id: soldIdOf(transaction), quantity: refundedUnits(transaction), at });
    }
    return refunds;
  }
}

/** The types of notifications of refunds, and of refunds that were taken back. */
const REFUND_TYPES = ['REFUND', 'REFUND_REVERSED'] as const;

/** Subscriptions that renew. All transactions of one have the same original transaction. */
export class AppleSubscriptions extends AppleSales<StorePurchase> {
  constructor(options: AppleOptions, known: Known) {
    super(options, known, RENEWABLE);
  }

  /** @param id the environment and the original transaction */
  protected async ask(id: string, app: App, traceparent: string | undefined) {
    const found = await this.known.api.subscription(app, id.slice(id.indexOf(':') + 1), traceparent);
    if (found === undefined) return undefined;
    return { transaction: await this.opened(found.transaction, Transaction), renewal: await this.opened(found.renewal, RenewalInfo) };
  }

  protected purchaseOf(transaction: Transaction, renewal: RenewalInfo | undefined): StorePurchase {
    const { bundleId, productId, transactionId, appAccountToken, environment } = transaction;
    const now = this.options.now();
    return {
      id: soldIdOf(transaction),
      packageName: bundleId,
      productId,
      ...stateOf(transaction, renewal, now),
      checkedAt: now,
      buyer: appAccountToken,
      linkedId: undefined,
      renewed: undefined,
      boughtAt: boughtAtOf(transaction),
      orderId: transactionId,
      retires: false,
      acknowledged: true,
      isTest: environment === SANDBOX,
    };
  }
}

/** How long Apple tries to bill, in milliseconds: https://developer.apple.com/documentation/storekit/reducing-involuntary-subscriber-churn */
const BILLING_RETRY_MS = 60 * 86_400_000;

/**
 * The state of a subscription by the transaction that was bought last, and by the renewal info that was signed since. A transaction alone
 * does not say whether it will be renewed.
 */
function stateOf(transaction: Transaction, told: RenewalInfo | undefined, now: number) {
  const { purchaseDate, expiresDate = purchaseDate, revocationDate = Infinity, isUpgraded = false } = transaction;
  // A transaction that an upgrade has replaced gives no access.
  const end = isUpgraded ? purchaseDate : Math.min(expiresDate, revocationDate);
  const renewal = told === undefined || told.signedDate < purchaseDate ? undefined : told;
  const willRenew = renewal && renewal.autoRenewStatus === 1;
  const { gracePeriodExpiresDate: graceEnd = 0, isInBillingRetryPeriod: isRetried = false } = renewal ?? {};
  if (now < end) return { state: willRenew === false ? ('canceled' as const) : ('active' as const), expiresAt: end, willRenew };
  if (end === expiresDate && now < graceEnd) return { state: 'grace' as const, expiresAt: graceEnd, willRenew };
  const isHeld = end === expiresDate && isRetried && now < end + BILLING_RETRY_MS;
  return { state: isHeld ? ('on_hold' as const) : ('expired' as const), expiresAt: end, willRenew: isHeld ? willRenew : renewal && false };
}
