import { pino } from 'pino';
import { accountIdOf } from '../../../../src/accounts/ids.ts';
import { Bookings } from '../../../../src/features/coins/bookings.ts';
import { CoinTotals } from '../../../../src/features/coins/coin-totals.ts';
import { KeySecret } from '../../../../src/features/coins/key-secret.ts';
import { coinKeys } from '../../../../src/features/coins/model.ts';
import { KeptNotices } from '../../../../src/features/purchases/coins/kept-notices.ts';
import { PurchaseCounts } from '../../../../src/features/purchases/coins/purchase-counts.ts';
import { CoinPurchases } from '../../../../src/features/purchases/coins/coin-purchases.ts';
import { TestCoins } from '../../../../src/features/purchases/coins/test-coins.ts';
import { Metrics } from '../../../../src/server/metrics.ts';
import { appStoreUnavailable } from '../../../../src/stores/store-refusals.ts';
import { Stores } from '../../../../src/stores/stores.ts';
import type { OneTimeProducts, ProductPurchase, ProductState, Refund, Sold as SoldProduct } from '../../../../src/stores/store.ts';
import { DyingScripts } from '../../../dying-scripts.ts';
import { testConfig } from '../../../environment.ts';
import { freshId, start } from '../../../harness.ts';
import { startRedis } from '../../../own-redis.ts';

export const PACKAGE = 'dev.coinop.game';
export const UNIT_COINS = 100;

interface Sold {
  state: ProductState;
  readonly quantity: number;
  refunded: number | undefined;
  readonly buyer: string | undefined;
  isFinished: boolean;
  readonly isTest: boolean;
}

/** An app store in memory, with its own books. */
export class BookedStore implements OneTimeProducts {
  readonly packageNames = [PACKAGE];
  readonly askEveryMs = 60_000;
  readonly sold = new Map<string, Sold>();
  /** Whether the store accepts calls that finish a purchase. */
  takesFinish = true;
  isAway = false;
  isConfigured = true;
  /** Whether the catalogue has its product. */
  isInCatalogue = true;
  /** The refunds that the store lists. */
  listed: readonly Refund[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  sell(purchase: Partial<Sold> = {}): string {
    const token = freshId('token');
    this.sold.set(token, { state: 'purchased', quantity: 1, refunded: 0, buyer: undefined, isFinished: false, isTest: false, ...purchase });
    return token;
  }

  answerFor(id: string, checkedAt = this.#now()): ProductPurchase {
    const { state, quantity, refunded, buyer, isFinished, isTest } = this.sold.get(id)!;
    const bought = { packageName: PACKAGE, sku: 'coins_100', orderId: `GPA.${id}`, isTest };
    return { ...bought, id, state, quantity, refundedQuantity: refunded, buyer, isFinished, checkedAt };
  }

  /** The coins that the buyer keeps according to the books. */
  keptCoins(id: string): number {
    const { state, quantity, refunded } = this.sold.get(id)!;
    return state === 'purchased' ? UNIT_COINS * (quantity - (refunded ?? 0)) : 0;
  }

  async read(id: string): Promise<ProductPurchase | 'unknown'> {
    if (this.isAway) throw appStoreUnavailable(1000);
    return this.sold.has(id) ? this.answerFor(id) : 'unknown';
  }

  idOf(proof: string): string {
    return proof;
  }

  async acknowledge({ id }: SoldProduct): Promise<boolean> {
    if (this.takesFinish) this.sold.get(id)!.isFinished = true;
    return this.takesFinish;
  }

  async *refunds() {
    yield this.listed;
  }
}

/** Processes on one Redis that sell coins by the books. */
export async function openBooks(now: () => number = Date.now) {
  const own = await startRedis();
  // With a store the queues of the service would finish the work of a dying process before the test can check it.
  const service = await start({ redis: own.location, settings: { STORE: 'off' } });
  const books = new BookedStore(now);
  const log = pino({ level: 'silent' });
  const keySecret = new KeySecret(service.service.connections.source, log);
  await keySecret.read();
  return {
    own,
    service,
    books,
    process() {
      const scripts = new DyingScripts({ call: (command, words) => own.redis.call(command, ...words) }, now);
      const metrics = new Metrics();
      const counts = new PurchaseCounts(metrics);
      const purchases = new CoinPurchases({
        scripts,
        bookings: new Bookings({ scripts, keySecret, coinTotals: new CoinTotals(metrics), config: testConfig() }),
        catalogue: { productSoldAs: () => (books.isInCatalogue ? { productId: 'coins-100', coins: UNIT_COINS } : undefined) },
        get stores() {
          const products = books.isConfigured ? books : undefined;
          const none = { signIn: undefined, installs: undefined, subscriptions: undefined, notifications: undefined };
          return new Stores([{ name: 'google', ...none, products }]);
        },
        testCoins: new TestCoins({
          scripts,
          metrics,
          now,
          config: testConfig({ TEST_PURCHASES: 'capped', TEST_COINS_PER_DAY: '1000000' }),
        }),
        counts,
        log,
        now,
      });
      return { purchases, notices: new KeptNotices({ scripts, purchases, counts, log, now }), scripts };
    },
    /** Coins of the entries of an install, oldest first. */
    async coinsOf(installId: string): Promise<number[]> {
      const lines = await own.redis.lrange(coinKeys.ledger(accountIdOf(installId)), 0, -1);
      return lines.map((line) => Number(/^\d+:-?\d+ \w(-?\d+)/.exec(line)![1]));
    },
    async [Symbol.asyncDispose]() {
      keySecret.close();
      await service[Symbol.asyncDispose]();
      await own[Symbol.asyncDispose]();
    },
  };
}
