import { appStoreUnavailable } from '../../../src/stores/store-outage.ts';
import type { OneTimeProducts, ProductPurchase, ProductState, SoldProduct, TakenBack } from '../../../src/stores/store.ts';
import { freshId } from '../../harness.ts';

export const PACKAGE = 'dev.coinop.game';
export const UNIT_COINS = 100;

interface Sold {
  state: ProductState;
  readonly quantity: number;
  refunded: number | undefined;
  readonly buyer: string | undefined;
  isFinished: boolean;
}

/** An app store in memory, with its own books. */
export class BookedStore implements OneTimeProducts {
  readonly sellsAs = 'google';
  readonly packageNames = [PACKAGE];
  readonly askEveryMs = 60_000;
  readonly sold = new Map<string, Sold>();
  /** Whether the store accepts calls that finish a purchase. */
  takesFinish = true;
  isAway = false;
  /** The refunds that the store lists. */
  listed: readonly TakenBack[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  sell(purchase: Partial<Sold> = {}): string {
    const token = freshId('token');
    this.sold.set(token, { state: 'purchased', quantity: 1, refunded: 0, buyer: undefined, isFinished: false, ...purchase });
    return token;
  }

  answerFor(id: string, checkedAt = this.#now()): ProductPurchase {
    const { state, quantity, refunded, buyer, isFinished } = this.sold.get(id)!;
    const bought = { packageName: PACKAGE, sku: 'coins_100', orderId: `GPA.${id}`, isTest: false };
    return { ...bought, id, state, quantity, refundedQuantity: refunded, buyer, isFinished, checkedAt };
  }

  /** The coins that the buyer keeps according to the books. */
  keptCoins(id: string): number {
    const { state, quantity, refunded } = this.sold.get(id)!;
    return state === 'purchased' ? UNIT_COINS * (quantity - (refunded ?? 0)) : 0;
  }

  async look(id: string): Promise<ProductPurchase | 'unknown'> {
    if (this.isAway) throw appStoreUnavailable(1000);
    return this.sold.has(id) ? this.answerFor(id) : 'unknown';
  }

  async finish({ id }: SoldProduct): Promise<boolean> {
    if (this.takesFinish) this.sold.get(id)!.isFinished = true;
    return this.takesFinish;
  }

  async *takenBack() {
    yield this.listed;
  }
}
