import type { Logger } from 'pino';
import type { CallerScripts } from '../../../accounts/caller-scripts.ts';
import { backoffMs } from '../../../journal/backoff.ts';
import { Journal } from '../../../journal/journal.ts';
import type { DueQueue } from '../../../redis/due-queue.ts';
import { USE_TOLD_WITHIN_MS, type OneTimeProducts, type ProductPurchase } from '../../../stores/store.ts';
import type { StoreName, Stores } from '../../../stores/stores.ts';
import { LEASE_MS, LONGEST_WAIT_MS, PENDING_WAIT_MS, UNCONFIGURED_WAIT_MS } from '../core/check-schedule.ts';
import { accountNamed, accountOf, isOwnedBy } from '../core/owner.ts';
import { askStore } from '../core/ask-store.ts';
import { purchaseIdOf } from '../core/purchase-ids.ts';
import type { NamedPurchase } from '../core/waiting-purchases.ts';
import { retryWhileChanged } from '../core/retry-while-changed.ts';
import { keepOrder } from './find-purchase.ts';
import { listPurchase } from './purchases-of-account.ts';
import { isUnbooked, needsFinish, purchaseKeys, type PurchaseDocument } from './model.ts';
import { bookTransfer, type PurchaseBookings } from './move-purchase.ts';
import { stuckIn } from './operator-purchase.ts';
import type { PurchaseCounts } from './purchase-counts.ts';
import {
  bookedEntryScript,
  documentIn,
  forgetUseAsked,
  keysOf,
  noteUseAsked,
  readPurchase,
  recordFinished,
  recordPurchase,
  releasePurchase,
  voidScript,
} from './purchase-record.ts';
import type { TestCoins } from './test-coins.ts';

/**
 * Milliseconds until the queue takes over unfinished work. A check takes less time: the app store may need 8 s for its answer, and another
 * 4 s to accept the report of a grant.
 */
const TAKE_OVER_MS = 30_000;

/**
 * The number of purchases that one process checks in parallel. If it checked fewer, refunds would be late when the app store takes a second
 * to answer.
 */
const CHECKS_AT_ONCE = 64;

/**
 * If a grant is not reported to the app store after this many milliseconds, an error is logged. A day leaves time to act, because Google
 * refunds a purchase that is not acknowledged within three days.
 */
const OVERDUE_MS = 86_400_000;

/**
 * If a purchase was fully refunded, the service stops trying to report its grant this many milliseconds after the grant. The app store may
 * refuse the report forever, and no money is at stake.
 */
const REFUNDED_TELL_MS = 7 * 86_400_000;

export interface CoinPurchasesOptions {
  readonly scripts: CallerScripts;
  readonly bookings: PurchaseBookings & { balanceIn(accountId: string): Promise<number> };
  readonly catalogue: { productSoldAs(store: StoreName, sku: string): { productId: string; coins: number } | undefined };
  readonly stores: Stores;
  readonly testCoins: Pick<TestCoins, 'refusalOf' | 'nextDayAt'>;
  readonly counts: PurchaseCounts;
  readonly log: Logger;
  /** The time now, in milliseconds since 1970. */
  readonly now: () => number;
}

/** The account that presents a purchase. */
export interface Presented {
  readonly accountId: string;
  /** Whether the proof that it sent is not a secret (`Proof`). */
  readonly isOpen: boolean;
}

export type Claimed =
  | { readonly word: 'purchase_owned' | 'product_not_found' | 'unbound' | 'balance_limit' }
  | { readonly word: 'test_purchase'; readonly message: string }
  | {
      readonly word: 'recorded';
      readonly purchaseId: string;
      readonly document: PurchaseDocument;
      /** Whether this call granted the purchase. */
      readonly isGranting: boolean;
      /** The owner's balance after the last entry that this call booked. Undefined if the call booked none. */
      readonly balance: number | undefined;
    };

/**
 * The outcome of a notification of the app store. `ignored`: the purchase gives no coins, belongs to no account, or is of another app.
 * `unknown`: the store does not know the purchase. `not_yet`: the store does not know the purchase yet, but may know it later.
 * `product_not_found`: the catalogue lacks the product.
 */
export type Noticed =
  | { readonly word: 'recorded' | 'ignored' | 'unknown' | 'not_yet' }
  | { readonly word: 'product_not_found'; readonly sku: string; readonly orderId: string | undefined };

/** A purchase that is about to be recorded. */
interface Judged {
  readonly purchaseId: string;
  readonly purchase: ProductPurchase;
  readonly known: PurchaseDocument | undefined;
  readonly owner: string;
  readonly product: { readonly coins: number } | undefined;
}

interface Followed {
  readonly document: PurchaseDocument;
  readonly balance: number | undefined;
  readonly word: 'done' | 'deleted' | 'balance_limit';
  /** The time at which the queue has to check the purchase again, in milliseconds since 1970. Undefined if it need not check it again. */
  readonly nextAt: number | undefined;
}

/**
 * Purchases of coins, in three steps: record the purchase, book its ledger entries, report the grant to the app store. A process may die
 * after any step, so each step can be repeated: a script computes the next ledger entry from the purchase's record, and the entry's
 * idempotency key comes from that record too.
 */
export class CoinPurchases {
  readonly #options: CoinPurchasesOptions;
  readonly #journal: Journal;

  constructor(options: CoinPurchasesOptions) {
    this.#options = options;
    const { scripts, now } = options;
    this.#journal = new Journal({ name: purchaseKeys.due, takeOverMs: TAKE_OVER_MS, scripts, now });
  }

  /** The products of an app store. Undefined if the store is not open, or its settings are missing. */
  sellerOf(store: StoreName): OneTimeProducts | undefined {
    return this.#options.stores.salesOf(store, 'products');
  }

  /**
   * Records a purchase for the account that presents it, and books its coins.
   * @param purchase the app store's latest answer
   * @param presented the account that presents the purchase, and whether its proof is no secret. Undefined if no account does: the account
   * to which the purchase is bound then gets it
   * @throws Refusal `store_unavailable` if other calls keep changing the purchase; Error if Redis is unavailable. The same call may be
   * repeated
   */
  async claim(store: StoreName, purchase: ProductPurchase, presented: Presented | undefined, traceparent?: string): Promise<Claimed> {
    const { scripts, catalogue, now } = this.#options;
    const purchaseId = purchaseIdOf(store, purchase.id);
    return retryWhileChanged<Claimed>(async () => {
      const known = await readPurchase(purchaseId, scripts);
      const { word: refusal, owner } = await this.#ownerOf(store, purchase, known, presented);
      if (refusal !== undefined) return { word: refusal };
      const product = catalogue.productSoldAs(store, purchase.sku);
      const untaken = await this.#untakenTest({ purchaseId, purchase, known, owner, product });
      if (untaken !== undefined) return { word: 'test_purchase', message: untaken };
      if (product === undefined && (known?.productId ?? '') === '') return { word: 'product_not_found' };
      let claimed: Claimed | undefined;
      await this.#journal.run(purchaseId, async (act, dueAt) => {
        const recording = { store, purchase, ownerSeen: known?.owner ?? '', owner, product, act };
        const recorded = await recordPurchase(purchaseId, recording, scripts);
        if (recorded === undefined) return now();
        const { document, word, balance, nextAt } = await this.#follow(purchaseId, recorded.document, traceparent);
        if (word === 'balance_limit') claimed = { word };
        else if (word === 'deleted') claimed = { word: 'purchase_owned' };
        else claimed = { word: 'recorded', purchaseId, document, isGranting: recorded.isGranting, balance };
        // If a notification has made the purchase due during this call, the queue still has to check the purchase.
        return dueAt !== undefined && dueAt <= now() + LEASE_MS ? dueAt : nextAt;
      });
      return claimed;
    });
  }

  /**
   * Handles the app store's notification of a changed purchase. The notification is only a hint, after which the service asks the store. A
   * recorded purchase is checked within a second. A new purchase is recorded if it is bound to an account.
   * @param how `asks`: whether to ask the store about a new purchase. If false, the result for a new purchase is `not_yet`. `asksForUse`:
   * as in `PurchaseHint`
   * @throws Refusal `app_store_unavailable`, `store_unavailable`: the store has to send the notification again
   */
  async noticed({ store, id, packageName }: NamedPurchase, { asks = true, asksForUse = false } = {}): Promise<Noticed> {
    const { scripts, now } = this.#options;
    const seller = this.sellerOf(store);
    if (seller === undefined || !seller.packageNames.includes(packageName)) return { word: 'ignored' };
    const purchaseId = purchaseIdOf(store, id);
    if ((await readPurchase(purchaseId, scripts)) !== undefined) {
      if (asksForUse) await noteUseAsked(purchaseId, now(), scripts);
      await this.#journal.bring(purchaseId, now());
      return { word: 'recorded' };
    }
    const purchase = asks ? await seller.read(id, packageName) : 'not_yet';
    if (typeof purchase === 'string') return { word: purchase === 'not_yet' ? purchase : 'unknown' };
    // A canceled or fully refunded purchase gives no coins, so it is not recorded.
    if (purchase.state === 'canceled' || purchase.refundedQuantity === purchase.quantity) return { word: 'ignored' };
    const { word } = await this.claim(store, purchase, undefined);
    if (word === 'product_not_found') return { word, sku: purchase.sku, orderId: purchase.orderId };
    return { word: word === 'recorded' || word === 'balance_limit' ? 'recorded' : 'ignored' };
  }

  /** Makes the queue check a purchase soon. */
  bring(purchaseId: string): Promise<void> {
    return this.#journal.bring(purchaseId, this.#options.now());
  }

  /**
   * Records that a purchase is fully refunded by the app store's list of refunds. Does nothing if the store's answer about the purchase
   * itself has the number of refunded units.
   */
  async takeBackAll(purchaseId: string): Promise<void> {
    const { scripts, now } = this.#options;
    await this.#journal.run(purchaseId, async (act) => {
      await scripts.run(voidScript, keysOf(purchaseId), { act });
      return now();
    });
  }

  /** Checks purchases when they are due, until the returned queue is closed. */
  takeOver(): DueQueue {
    return this.#journal.takeOver((purchaseId) => this.check(purchaseId), LEASE_MS, this.#options.log, { atOnce: CHECKS_AT_ONCE });
  }

  /**
   * Books ledger entries that an earlier process did not book, asks the app store about the purchase, and applies the store's answer.
   * @returns when the purchase is due again, in milliseconds since 1970; undefined: never
   */
  async check(purchaseId: string): Promise<number | undefined> {
    const { scripts, now, log, counts, catalogue, testCoins } = this.#options;
    let document = await readPurchase(purchaseId, scripts);
    if (document === undefined) return undefined;
    // Entries that are not booked yet are booked before the app store is asked, because the store may be unavailable.
    if (isUnbooked(document)) ({ document } = await this.#book(purchaseId, document));
    if (document.id === '') return undefined;
    const { store, owner } = document;
    const seller = this.sellerOf(store);
    if (seller === undefined) return now() + UNCONFIGURED_WAIT_MS;
    const purchase = await askStore(seller, document);
    if (purchase === 'failed') {
      counts.failed(store, 'look');
      return now() + backoffMs(await recordFinished(purchaseId, false, scripts));
    }
    if (typeof purchase === 'string') {
      log.warn({ purchaseId }, 'the app store does not know a purchase that it confirmed before');
      return stuckIn(document) === undefined ? undefined : now() + LONGEST_WAIT_MS;
    }
    const product = catalogue.productSoldAs(store, purchase.sku);
    // A pending test purchase may become paid when the cap of the day is reached, or when the service does not accept test purchases any
    // more. Then its record stays as it is.
    if ((await this.#untakenTest({ purchaseId, purchase, known: document, owner, product })) !== undefined)
      return Math.min(testCoins.nextDayAt(), now() + LONGEST_WAIT_MS);
    const recorded = await recordPurchase(purchaseId, { store, purchase, ownerSeen: owner, owner, product, act: '' }, scripts);
    if (recorded === undefined) return now();
    const followed = await this.#follow(purchaseId, recorded.document);
    return this.#tellUse(purchaseId, followed);
  }

  /**
   * Tells the store whether the purchased coins were spent, if the store has asked for that.
   * @returns when the purchase is due again, in milliseconds since 1970; undefined: never
   */
  async #tellUse(purchaseId: string, { document, nextAt }: Followed): Promise<number | undefined> {
    const { scripts, bookings, now } = this.#options;
    const { useAskedAt, store, owner, granted, taken, grantedAt } = document;
    if (useAskedAt === undefined) return nextAt;
    const seller = this.sellerOf(store);
    const held = granted - taken;
    // After a refund the store needs no answer, and if the owner was deleted, there is nothing to tell.
    const isOver = owner === '-' || (grantedAt !== undefined && held <= 0) || now() - useAskedAt > USE_TOLD_WITHIN_MS;
    if (!isOver && seller?.tellUse !== undefined) {
      const balance = grantedAt === undefined ? 0 : await bookings.balanceIn(owner);
      const spent = grantedAt === undefined ? 0 : Math.max(0, held - Math.max(0, balance)) / held;
      if (!(await seller.tellUse(document, { isGranted: grantedAt !== undefined, spent })))
        return Math.min(nextAt ?? Infinity, now() + backoffMs(document.faults + 1));
    }
    await forgetUseAsked(purchaseId, useAskedAt, scripts);
    return nextAt;
  }

  /**
   * The reason why a test purchase that gave no coins yet is not recorded. Undefined if it is recorded, as every purchase is that somebody
   * paid for.
   */
  async #untakenTest({ purchaseId, purchase, known, owner, product }: Judged): Promise<string | undefined> {
    const { isTest, state, quantity, refundedQuantity = 0 } = purchase;
    if (!isTest || owner === '-' || (known !== undefined && known.entries > 0)) return undefined;
    const gives = state === 'purchased' && refundedQuantity < quantity;
    // The store may reverse a refund of some units, so the coins of all units are reserved.
    const coins = gives ? (product?.coins ?? known?.unitCoins ?? 0) * quantity : 0;
    return this.#options.testCoins.refusalOf(purchaseId, owner, coins);
  }

  /** The owner to record for a purchase, or the reason why there is none. */
  async #ownerOf(
    store: StoreName,
    { buyer }: ProductPurchase,
    known: PurchaseDocument | undefined,
    presented: Presented | undefined,
  ): Promise<{ word: 'unbound' | 'purchase_owned'; owner?: undefined } | { word?: undefined; owner: string }> {
    const { scripts } = this.#options;
    const owned = { word: presented === undefined ? ('unbound' as const) : ('purchase_owned' as const) };
    if (known?.owner === '-') return owned;
    const owner = known === undefined ? await accountNamed(store, buyer, scripts) : ((await accountOf(known.owner, scripts)) ?? 'deleted');
    if (owner === 'deleted') return owned;
    if (owner === undefined) return presented === undefined || presented.isOpen ? { word: 'unbound' } : { owner: presented.accountId };
    if (presented !== undefined && !(await isOwnedBy(owner, presented.accountId, scripts))) return owned;
    return { owner: known?.owner ?? owner };
  }

  /** Books, lists and reports a purchase as its record requires. The function may stop after any step, and may be called again. */
  async #follow(purchaseId: string, recorded: PurchaseDocument, traceparent?: string): Promise<Followed> {
    const { now, scripts } = this.#options;
    const booked = await this.#book(purchaseId, recorded);
    const { document, word } = booked;
    // The process that recorded the purchase may have died before it added the purchase to its owner's list.
    const isListed =
      isUnbooked(recorded) || document.owner === '-' || (await listPurchase(document.owner, purchaseId, document.at, scripts));
    if (!isListed) await releasePurchase(purchaseId, document.owner, scripts);
    if (word === 'deleted' || !isListed) return { ...booked, word: 'deleted', nextAt: needsFinish(document) ? now() : undefined };
    if (word === 'balance_limit') return { ...booked, nextAt: now() + backoffMs(document.faults + 1) };
    if (needsFinish(document)) return { ...booked, ...(await this.#report(purchaseId, document, traceparent)) };
    return { ...booked, nextAt: document.state === 'pending' ? now() + PENDING_WAIT_MS : undefined };
  }

  /** Reports the grant to the store. */
  async #report(purchaseId: string, document: PurchaseDocument, traceparent?: string): Promise<Pick<Followed, 'document' | 'nextAt'>> {
    const { scripts, now, log, counts } = this.#options;
    const isFinished = (await this.sellerOf(document.store)?.acknowledge(document, traceparent)) ?? false;
    const faults = await recordFinished(purchaseId, isFinished, scripts);
    const reported = { ...document, isFinished, faults };
    if (isFinished) return { document: reported, nextAt: undefined };
    counts.failed(document.store, 'finish');
    const ageMs = now() - document.grantedAt!;
    const isRefunded = document.refunded >= document.quantity;
    if (isRefunded && ageMs > REFUNDED_TELL_MS) return { document: reported, nextAt: undefined };
    if (!isRefunded && ageMs > OVERDUE_MS) {
      counts.overdue(document.store);
      log.error({ purchaseId, orderId: document.orderId }, 'the app store does not know, after a day, that a buyer has the purchase');
    }
    return { document: reported, nextAt: now() + backoffMs(faults) };
  }

  /** Books the ledger entries that the record requires. */
  async #book(purchaseId: string, due: PurchaseDocument): Promise<Omit<Followed, 'nextAt'>> {
    const { scripts, bookings, counts } = this.#options;
    const moved = await bookTransfer(purchaseId, due, this.#options);
    let { document } = moved;
    let balance: number | undefined;
    if (moved.word !== 'done') return { document, balance, word: moved.word };
    for (let booking = document.booking; booking !== undefined; booking = document.booking) {
      const { owner, store, at, orderId, productId, quantity, refunded } = document;
      const { type, coins, number } = booking;
      // All calls of this `Promise.all` start in one turn of the event loop, so that calls to the same primary share a round trip.
      const [booked, isListed] = await Promise.all([
        bookings.book(owner, {
          ...{ type, coins, key: [store, purchaseId, number], refusesBanned: false },
          purchase: { purchaseId, store, productId, quantity: type === 'topup' ? quantity : refunded },
        }),
        listPurchase(owner, purchaseId, at, scripts),
        keepOrder(orderId, purchaseId, scripts),
      ]);
      if (booked.word === 'deleted' || !isListed) {
        await releasePurchase(purchaseId, owner, scripts);
        return { document: { ...document, owner: '-', booking: undefined }, balance, word: 'deleted' };
      }
      if (!('balance' in booked)) return { document, balance, word: 'balance_limit' };
      if (booked.word === 'done') counts.booked(store, type, coins);
      balance = booked.balance;
      const entry = { number, coins: booked.coins, balanceAfter: booked.balanceAfter };
      document = documentIn(await scripts.run(bookedEntryScript, keysOf(purchaseId), entry)) ?? { ...document, booking: undefined };
    }
    return { document, balance, word: 'done' };
  }
}
