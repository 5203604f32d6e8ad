import { refuse } from '../../errors.ts';
import { storeUnconfigured } from '../store-refusals.ts';
import {
  MAX_TOKEN_LENGTH,
  type Answer,
  type OneTimeProducts,
  type ProductPurchase,
  type Refund,
  type Sales,
  type StorePurchase,
} from '../store.ts';
import type { Newest, NewestTransactions } from './newest-transactions.ts';
import type { AppleOptions } from './settings.ts';
import type { SignedTexts } from './signed-texts.ts';
import {
  boughtAtOf,
  BOUGHT,
  CONSUMABLE,
  refundedUnits,
  RENEWABLE,
  SANDBOX,
  soldIdOf,
  Transaction,
  type RenewalInfo,
} from './transactions.ts';

interface Known {
  readonly texts: SignedTexts;
  readonly newest: NewestTransactions;
}

/** Milliseconds between two questions for refunds. Signed texts alone have no list of refunds, so nothing is asked. */
const ASK_EVERY_MS = 15 * 60_000;

/** Purchases of one kind in the App Store. Signed transactions prove them; their ids are read from what was signed before. */
abstract class AppleSales<Purchase> implements Sales<Purchase> {
  protected readonly options: AppleOptions;
  readonly #known: Known;
  /** The `type` of these transactions. */
  readonly #type: string;

  constructor(options: AppleOptions, known: Known, type: string) {
    this.options = options;
    this.#known = known;
    this.#type = type;
  }

  get packageNames(): readonly string[] {
    return this.options.settings().bundleIds;
  }

  /** @throws Refusal `bad_token`; `store_unconfigured` for the bare id of a subscription's transaction, which only Apple could explain */
  async idOf(proof: string): Promise<string> {
    if (isSigned(proof)) return soldIdOf(await this.#verify(proof));
    if (this.#type === RENEWABLE && !proof.includes(':')) throw storeUnconfigured();
    return proof;
  }

  async read(proof: string, packageName?: string): Promise<Answer<Purchase>> {
    const newest = isSigned(proof) ? await this.#newestOf(await this.#verify(proof)) : await this.#known.newest.find(proof);
    // Nothing that Apple signed has told of this id, and nobody else can be asked.
    if (newest === undefined) throw storeUnconfigured();
    const { transaction, renewal } = newest;
    if (!this.#sells(transaction) || (packageName !== undefined && transaction.bundleId !== packageName)) return 'unknown';
    return this.purchaseOf(transaction, renewal);
  }

  protected abstract purchaseOf(transaction: Transaction, renewal: RenewalInfo | undefined): Purchase;

  /** The app finishes its transactions: Apple asks servers for nothing. */
  async acknowledge(): Promise<boolean> {
    return true;
  }

  async #newestOf(transaction: Transaction): Promise<Newest> {
    return this.#sells(transaction) ? this.#known.newest.keep(soldIdOf(transaction), transaction) : { transaction, renewal: undefined };
  }

  #sells({ bundleId, type, inAppOwnershipType }: Transaction): boolean {
    return type === this.#type && inAppOwnershipType === BOUGHT && this.packageNames.includes(bundleId);
  }

  async #verify(text: string): Promise<Transaction> {
    const { data, error } = Transaction.safeParse(await this.#known.texts.read(text, MAX_TOKEN_LENGTH));
    if (data !== undefined) return data;
    this.options.log.info({ reason: error?.issues[0]?.path.join('.') }, 'a signed transaction does not verify');
    throw refuse('bad_token', { message: 'Is not a transaction that Apple has signed.', field: 'transaction' });
  }
}

const isSigned = (proof: string): boolean => proof.includes('.');

/** Consumables, which players may buy again and again. */
export class AppleProducts extends AppleSales<ProductPurchase> implements OneTimeProducts {
  readonly askEveryMs = ASK_EVERY_MS;

  constructor(options: AppleOptions, known: Known) {
    super(options, known, CONSUMABLE);
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
      isFinished: true,
      isTest: environment === SANDBOX,
      checkedAt: this.options.now(),
    };
  }

  /** Signed texts alone tell of refunds. */
  async *refunds(): AsyncGenerator<readonly Refund[]> {}
}

/** Subscriptions that renew. All transactions of one have the same original transaction. */
export class AppleSubscriptions extends AppleSales<StorePurchase> {
  constructor(options: AppleOptions, known: Known) {
    super(options, known, RENEWABLE);
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
