import type { StorePurchase } from '../store.ts';
import { AppleSales, type Known } from './sales.ts';
import type { App } from './server-api.ts';
import type { AppleOptions } from './settings.ts';
import { boughtAtOf, RENEWABLE, RenewalInfo, SANDBOX, soldIdOf, Transaction } from './transactions.ts';

/** Subscriptions that renew. All transactions of one subscription have the same original transaction. */
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
 * The state of a subscription, computed from the transaction that was bought last and from the renewal info that was signed later. A
 * transaction alone does not say whether it will be renewed.
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
