import { timeOf } from '../../../accounts/merge-rules.ts';
import type { ProductState } from '../../../stores/store.ts';
import type { StoreName } from '../../../stores/stores.ts';
import { PurchaseFields } from '../core/purchase-fields.ts';

export const purchaseKeys = {
  /**
   * The record of a purchase of coins: a hash. The Redis key contains the id that `purchaseIdOf` makes of the purchase. Fields:
   * - of the store's last answer: store, id (the store's own, a secret), packageName, sku, orderId, buyer, state, quantity, refunded,
   *   checkedAt, test, tellsRefunds
   * - of the catalogue at the grant: productId, unitCoins
   * - owner: an account id; after a guest moved still the guest's; `-` once the account was deleted
   * - at (when the purchase was recorded), grantedAt, refundedAt, balanceAfter (of the grant), sums of the ledger entries and the open
   *   entry (`purchase-coins.lua`)
   * - finished (1 once the store accepted the report of the grant), faults (failed checks in a row), act (the id of the last change: the
   *   queue had an entry with this id before the record changed)
   * - useAskedAt: when the store asked what became of the purchase (`OneTimeProducts.tellUse`). Missing: it did not, or has been told
   * - moves (JSON: the moves to other accounts by operators), transfer (`<type> <coins> <account> <number>`: the next ledger entry of the
   *   last move)
   * The hash never expires: without it the purchase could be granted again.
   */
  purchase: (purchaseId: string) => `{product-purchase:${purchaseId}}`,
  /** A sorted set: the account's purchases, by the time at which they were recorded. */
  listed: (accountId: string) => `{${accountId}}:${LISTED}`,
  /** A string: the id of the purchase that has an order number of the app store. The Redis key has a hash of the number. */
  order: (hash: string) => `{product-order:${hash}}`,
  /** The queue of purchases to check: sorted sets of purchase ids (`purchaseIdOf`). The score is the time at which the check is due. */
  due: 'product-purchases:due',
  /**
   * A hash: a notification of the app store whose purchase cannot be recorded yet (`kept-notices.ts`). Fields: store, id (the store's own,
   * a secret), packageName, noticedAt and hintedAt (when the first and the latest notification arrived), unknowns (answers of the store
   * that it does not know the purchase), faults (attempts in a row), dueAt, act (the id of the last change: the queue had an entry with
   * this id before the hash changed).
   */
  notice: (purchaseId: string) => `{product-notice:${purchaseId}}`,
  /** A hash: the process that has the lease to ask an app store for refunds, and the time of the last request that the store answered. */
  asked: (store: string) => `product-purchases:asked:${store}`,
  /**
   * A hash: the coins of test purchases on a UTC day (`reserve-test-coins.lua`). Fields: `all`, an account id, and an account id with a
   * purchase id. The key of this hash is not in the slot of an account, because one script compares the sum of an account with the sum of
   * all accounts.
   */
  testCoins: (day: string) => `{test-coins:${day}}`,
  /**
   * The queue of kept notifications: sorted sets of purchase ids (`purchaseIdOf`). The score is the time at which the store is asked again.
   */
  noticesDue: 'product-notices:due',
};

/** The name of the Redis key of an account's list of purchases, without the prefix `{<account id>}:`. */
export const LISTED = 'product-purchases';

/**
 * The idempotency key of the ledger entry with which an operator corrects the coins that a purchase wrongly gave or took. Once a ledger has
 * this entry, the audit no longer reports the purchase's entries in that ledger.
 */
export const undoKeyOf = (purchaseId: string): string => `undo-${purchaseId}`;

/** The next ledger entry of a purchase. `purchase-coins.lua` decides it. */
export interface PurchaseBooking {
  readonly type: 'topup' | 'refund';
  readonly coins: number;
  readonly number: string;
}

/**
 * A ledger entry of a move: it takes the coins of a purchase from the previous owner, or gives them to the new owner. `text` is the entry
 * as the record has it.
 */
export interface PurchaseTransfer extends PurchaseBooking {
  readonly accountId: string;
  readonly text: string;
}

/** A move of a purchase from one account to another by an operator. */
export interface PurchaseMoveRecord {
  readonly at: number;
  readonly from: string;
  readonly to: string;
  /** The coins that move: the coins that the purchase had granted, less the coins that refunds had taken. */
  readonly coins: number;
  /**
   * The coins that were taken from the previous owner. With REFUNDS=floor they may be fewer than `coins`. Undefined while the entry is not
   * booked yet.
   */
  readonly taken: number | undefined;
  readonly key: string;
  readonly by: string;
  readonly reason: string;
}

/** The record of a purchase. Times are milliseconds since 1970. */
export type PurchaseDocument = Readonly<ReturnType<typeof documentOf>>;

/**
 * The outcome of an operator's move. `busy`: an entry of the purchase is not booked yet, but a running service will book it. `full`: the
 * purchase has moved too often. `changed`: the owner is not the account that the operator saw as the owner.
 */
export type Moved =
  | { readonly word: 'moved' | 'replayed'; readonly document: PurchaseDocument }
  | { readonly word: 'key_reused' | 'busy' | 'changed' | 'full' | 'unknown' };

export function documentOf(found: ReadonlyMap<string, string> | readonly string[] | PurchaseFields) {
  const fields = found instanceof PurchaseFields ? found : new PurchaseFields(found);
  const text = (name: string): string => fields.text(name);
  const number = (name: string): number => fields.number(name);
  return {
    store: text('store') as StoreName,
    /** The store's own id of the purchase. '' once the owner was deleted and no report to the store is left. */
    id: text('id'),
    packageName: text('packageName'),
    sku: text('sku'),
    /** The catalogue's id of the product. '' before the grant. */
    productId: text('productId'),
    orderId: text('orderId'),
    /** The account that the app named to the store. '' if the app named none. */
    buyer: text('buyer'),
    /**
     * The id of the account that owns the purchase. If a guest owns the purchase and has moved, the owner is still the guest's id. `-` once
     * the account was deleted.
     */
    owner: text('owner'),
    state: text('state') as ProductState,
    quantity: number('quantity'),
    refunded: number('refunded'),
    granted: number('granted'),
    taken: number('taken'),
    /** The coins of a unit, as the catalogue said before the grant. 0: the catalogue lacks the product. */
    unitCoins: number('unitCoins'),
    /** The number of ledger entries so far, including an entry that is not booked yet. */
    entries: number('entries'),
    isTest: fields.has('test'),
    isFinished: fields.has('finished'),
    tellsRefunds: fields.has('tellsRefunds'),
    booking: bookingIn(text('booking'), text('entries')),
    transfer: transferIn(text('transfer')),
    moves: movesIn(text('moves')),
    at: number('at'),
    checkedAt: number('checkedAt'),
    grantedAt: timeOf(text('grantedAt')),
    refundedAt: timeOf(text('refundedAt')),
    /** The owner's balance right after the grant, in coins. */
    balanceAfter: number('balanceAfter'),
    faults: number('faults'),
    useAskedAt: timeOf(text('useAskedAt')),
  };
}

function bookingIn(text: string, number: string): PurchaseBooking | undefined {
  const [type, coins] = text.split(' ');
  return type === '' ? undefined : { type: type as PurchaseBooking['type'], coins: Number(coins), number };
}

function transferIn(text: string): PurchaseTransfer | undefined {
  const [type, coins, accountId = '', number = ''] = text.split(' ');
  if (type !== 'topup' && type !== 'refund') return undefined;
  // `|| 0` turns -0 into 0: `Number('-0')` is -0, which `Object.is` distinguishes from 0.
  return { type, coins: Number(coins) || 0, accountId, number, text };
}

function movesIn(text: string): readonly PurchaseMoveRecord[] {
  const moves = text === '' ? [] : (JSON.parse(text) as Record<keyof PurchaseMoveRecord, string>[]);
  return moves.map(({ at, coins, taken, ...rest }) => {
    return { ...rest, at: Number(at), coins: Number(coins), taken: taken === undefined ? undefined : Number(taken) };
  });
}

/** The most moves of a purchase to other accounts. Its document keeps each of them. */
export const MOST_MOVES = 20;

/** Whether an entry of the purchase is still to be booked in a ledger. */
export function isUnbooked({ booking, transfer }: PurchaseDocument): boolean {
  return booking !== undefined || transfer !== undefined;
}

/** Whether the grant still has to be reported to the store. */
export function needsFinish({ grantedAt, isFinished, state, id }: PurchaseDocument): boolean {
  return grantedAt !== undefined && !isFinished && state === 'purchased' && id !== '';
}
