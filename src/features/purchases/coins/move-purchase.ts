import type { CallerScripts } from '../../../accounts/caller-scripts.ts';
import { Journal } from '../../../journal/journal.ts';
import { listPurchase, unlistPurchase } from './purchases-of-account.ts';
import { purchaseKeys, type Moved, type PurchaseBooking, type PurchaseDocument } from './model.ts';
import { documentIn, keysOf, movedEntryScript, recordMove, releasePurchase } from './purchase-record.ts';

/** The outcome of a ledger booking, as `BookingOutcome` of `coins/bookings.ts` describes it. */
export type Booked =
  | { readonly word: 'done' | 'replayed'; readonly coins: number; readonly balanceAfter: number; readonly balance: number }
  | { readonly word: 'deleted' | 'banned' | 'balance_limit' };

export interface PurchaseBookings {
  book(
    accountId: string,
    entry: {
      type: PurchaseBooking['type'];
      coins: number;
      key: readonly string[];
      refusesBanned: boolean;
      purchase?: { purchaseId: string; store: string; productId: string; quantity: number };
    },
  ): Promise<Booked>;
}

interface MoveServices {
  readonly scripts: CallerScripts;
  readonly bookings: PurchaseBookings;
}

/** Milliseconds until the queue takes over an unfinished move, whose steps are two ledger entries and two lists. */
const TAKE_OVER_MS = 30_000;

export interface PurchaseMove {
  /** The owner that the operator was shown. If the purchase has another owner now, it does not move. */
  readonly ownerSeen: string;
  readonly owner: string;
  readonly key: string;
  readonly by: string;
  readonly reason: string;
}

/**
 * Gives a purchase to another account, once per idempotency key. First the record changes. Then an entry in the previous owner's ledger and
 * an entry in the new owner's ledger move the coins. If the process dies in between, the queue finishes the move. Later refunds are taken
 * from the new owner.
 */
export async function movePurchase(
  purchaseId: string,
  move: PurchaseMove,
  services: MoveServices & { readonly now: () => number },
): Promise<Moved> {
  const { scripts, now } = services;
  const journal = new Journal({ name: purchaseKeys.due, takeOverMs: TAKE_OVER_MS, scripts, now });
  let moved: Moved = { word: 'unknown' };
  const { decision, done } = await journal.begin(
    purchaseId,
    (act) => recordMove(purchaseId, { ...move, act }, scripts),
    async (decided) => {
      moved = decided;
      if ('document' in decided) {
        const { document } = await bookTransfer(purchaseId, decided.document, services);
        moved = { ...decided, document };
      }
      // The queue checks the purchase after the move, because a notification may have arrived during the move.
      return decided.word === 'unknown' ? undefined : now();
    },
  );
  await done;
  // The move takes place even if its ledger entries could not be booked, because the queue books them later.
  return 'document' in moved ? moved : decision;
}

/**
 * Takes a moved purchase's coins from the previous owner, and gives them to the new one. The function may stop after any step, and may be
 * called again.
 */
export async function bookTransfer(
  purchaseId: string,
  moving: PurchaseDocument,
  { scripts, bookings }: MoveServices,
): Promise<{ readonly document: PurchaseDocument; readonly word: 'done' | 'deleted' | 'balance_limit' }> {
  let document = moving;
  for (let { transfer } = document; transfer !== undefined; { transfer } = document) {
    const { type, coins, accountId, number, text } = transfer;
    const key = [document.store, purchaseId, number];
    const [booked, isListed] = await Promise.all([
      coins === 0 ? undefined : bookings.book(accountId, { type, coins, key, refusesBanned: false }),
      type === 'refund' ? unlistPurchase(accountId, purchaseId, scripts) : listPurchase(accountId, purchaseId, document.at, scripts),
    ]);
    if (type === 'topup' && (!isListed || booked?.word === 'deleted')) {
      await releasePurchase(purchaseId, document.owner, scripts);
      return { document: { ...document, owner: '-', transfer: undefined }, word: 'deleted' };
    }
    if (booked?.word === 'balance_limit') return { document, word: 'balance_limit' };
    // If the previous owner was deleted, no coins are taken.
    const taken = booked !== undefined && 'coins' in booked && type === 'refund' ? -booked.coins : 0;
    const recorded = documentIn(await scripts.run(movedEntryScript, keysOf(purchaseId), { booked: text, taken }));
    document = recorded ?? { ...document, transfer: undefined };
  }
  return { document, word: 'done' };
}
