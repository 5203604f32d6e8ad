import { Refusal } from '../../errors.ts';
import type { OneTimeProducts, ProductPurchase, Refund, Sold, Use } from '../store.ts';
import { AppleSales, appsOf, type Known } from './sales.ts';
import type { App } from './server-api.ts';
import type { AppleOptions } from './settings.ts';
import { SignedNotifications } from './signed-notifications.ts';
import { CONSUMABLE, refundedUnits, SANDBOX, soldIdOf, WHOLE_PERCENTAGE, type Transaction } from './transactions.ts';

/** Milliseconds between two searches for refunds if the API's keys are missing. Nothing is asked then. */
const ASK_EVERY_MS = 15 * 60_000;

/** Purchases of consumables, which players may buy again and again. */
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

  /** Tells Apple that the buyer has received the coins, so that the app need not finish the transaction. */
  override async acknowledge({ id, packageName }: Sold, traceparent?: string): Promise<boolean> {
    const { api } = this.known;
    if (!api.isOpen) return true;
    return this.#told('the buyer has it', async () => api.finish(await this.#appOf(id, packageName), id, traceparent));
  }

  /** Only facts of the ledger. Apple decides whether to grant the refund. */
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

  /** Reads Apple's history of notifications in both environments. Without the API's keys only signed texts report refunds. */
  async *refunds(since: number): AsyncGenerator<readonly Refund[]> {
    if (!this.known.api.isOpen) return;
    let failure: unknown;
    for (const app of appsOf('', undefined, undefined, this.packageNames).flat()) {
      try {
        for (const type of REFUND_TYPES) {
          for await (const page of this.known.api.notifications(app, type, since)) yield await this.#refundsIn(page);
        }
      } catch (error) {
        // The keys may lack rights for one app. The list is still read for the other apps.
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
