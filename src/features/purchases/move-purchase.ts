import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { Journal } from '../../journal/journal.ts';
import { listPurchase, unlistPurchase } from './listing.ts';
import { purchaseKeys, type Moved, type PurchaseBooking, type PurchaseDocument } from './model.ts';
import { recordMove, recordTransferred, releasePurchase } from './purchase-record.ts';

/** An entry of the ledger was booked, or could not be. `coins/bookings.ts` says how. */
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

interface Parts {
  readonly scripts: CallerScripts;
  readonly bookings: PurchaseBookings;
}

/** Milliseconds after which the queue takes over what a process has begun: two entries, and their lists. */
const TAKE_OVER_MS = 30_000;

export interface PurchaseMove {
  /** The owner that the operator was shown. */
  readonly ownerSeen: string;
  readonly owner: string;
  readonly key: string;
  readonly by: string;
  readonly reason: string;
}

/**
 * Gives a purchase to another account, once a key: its record decides, the coins follow by an entry in each ledger, and the queue finishes
 * what a process leaves behind. Later refunds concern the new owner.
 */
export async function movePurchase(purchaseId: string, move: PurchaseMove, parts: Parts & { readonly now: () => number }): Promise<Moved> {
  const { scripts, now } = parts;
  const journal = new Journal({ name: purchaseKeys.due, takeOverMs: TAKE_OVER_MS, scripts, now });
  let moved: Moved = { word: 'unknown' };
  const { decision, done } = await journal.begin(
    purchaseId,
    (act) => recordMove(purchaseId, { ...move, act }, scripts),
    async (decided) => {
      moved = decided;
      if ('document' in decided) {
        const { document } = await bookTransfer(purchaseId, decided.document, parts);
        moved = { ...decided, document };
      }
      // A service asks the store next: a notification of the store may have come during the move.
      return decided.word === 'unknown' ? undefined : now();
    },
  );
  await done;
  // What follows may have failed: the queue does it then.
  return 'document' in moved ? moved : decision;
}

/** Takes the coins of a purchase that moves from the owner before, and gives them to the owner. May be repeated, and stop anywhere. */
export async function bookTransfer(
  purchaseId: string,
  moving: PurchaseDocument,
  { scripts, bookings }: Parts,
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
    // The coins of an account that was deleted are gone with it.
    const taken = booked !== undefined && 'coins' in booked && type === 'refund' ? -booked.coins : 0;
    document = (await recordTransferred(purchaseId, { booked: text, taken }, scripts)) ?? { ...document, transfer: undefined };
  }
  return { document, word: 'done' };
}
