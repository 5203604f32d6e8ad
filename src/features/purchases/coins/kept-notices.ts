import type { Logger } from 'pino';
import { refuse, Refusal } from '../../../errors.ts';
import { backoffMs } from '../../../journal/backoff.ts';
import { Journal } from '../../../journal/journal.ts';
import type { DueQueue } from '../../../redis/due-queue.ts';
import { Queue } from '../../../redis/queue.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { SellingStore } from '../../../stores/store.ts';
import { purchaseIdOf, purchaseKeys } from './model.ts';
import { dropNotice, keepNotice, postponeNotice, readNotice, type KeptNotice } from './notice-record.ts';
import type { PurchaseCounts } from './purchase-counts.ts';
import { LEASE_MS, type PurchaseJournal } from './purchase-journal.ts';

/**
 * The number of answers "unknown purchase" of the app store after which a notification is dropped. Failed calls are not counted. The waits
 * between the answers are some 7 minutes together.
 */
const UNKNOWN_TRIES = 4;

/**
 * The most notifications that are kept, at about a kilobyte each. The app store confirms a real purchase within minutes. So only invented
 * purchases, or an outage of the store while thousands buy, fill the queue.
 */
const MOST_KEPT = 10_000;

/**
 * The Retry-After for a notification that finds the queue full, in milliseconds. Google's Pub/Sub sends a refused notification again, for a
 * week by default.
 */
const FULL_RETRY_MS = 60_000;

/** How long a notification is kept, in milliseconds: three days, because Google refunds a purchase that is not acknowledged by then. */
const REFUNDED_MS = 3 * 86_400_000;

/** The wait between two attempts while the settings of the app store are missing, in milliseconds. */
const UNCONFIGURED_WAIT_MS = 3_600_000;

export interface KeptNoticesOptions {
  readonly scripts: ScriptRunner;
  readonly purchases: Pick<PurchaseJournal, 'noticed' | 'sellerOf'>;
  readonly counts: PurchaseCounts;
  readonly log: Logger;
  /** The time now, in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Notifications of the app store whose purchases cannot be recorded yet: Google may name a purchase before its API knows the purchase, and
 * the catalogue may lack the product. The service keeps such a notification and asks the store again. So a purchase that is bound to an
 * account is granted even if the app never sends it.
 */
export class KeptNotices {
  readonly #options: KeptNoticesOptions;
  readonly #journal: Journal;

  constructor(options: KeptNoticesOptions) {
    this.#options = options;
    const { scripts, now } = options;
    this.#journal = new Journal({ name: purchaseKeys.noticesDue, takeOverMs: LEASE_MS, scripts, now });
  }

  /**
   * Handles the store's notification of a purchase as `PurchaseJournal.noticed` does, and keeps it if the purchase cannot be recorded yet.
   * @param isOfPurchase whether the notification says that something was bought. Other notifications are not kept, because nothing is to be
   * booked
   * @returns whether the purchase is recorded, or its notification is kept
   * @throws Refusal `app_store_unavailable`, `store_unavailable`: the store has to send the notification again
   */
  async noticed(store: SellingStore, proof: string, packageName: string, isOfPurchase: boolean): Promise<boolean> {
    const { scripts, purchases, log, now } = this.#options;
    const { word, ...about } = await purchases.noticed(store, proof, packageName);
    if (word === 'recorded') return true;
    if (word === 'ignored' || !isOfPurchase) return false;
    const purchaseId = purchaseIdOf(store, proof);
    const isKept = (await readNotice(purchaseId, scripts)) !== undefined;
    if (!isKept && (await new Queue(purchaseKeys.noticesDue, scripts).isFull(purchaseId, MOST_KEPT))) {
      const message = 'Too many notifications wait for the app store: send the notification again later.';
      throw refuse('store_unavailable', { message, retryAfterMs: FULL_RETRY_MS });
    }
    const notice = { store, id: proof, packageName, unknowns: word === 'unknown' ? 1 : 0, dueAt: now() + backoffMs(1) };
    const { done } = await this.#journal.begin(
      purchaseId,
      (act) => keepNotice(purchaseId, { ...notice, act }, scripts),
      async (dueAt) => dueAt,
    );
    await done;
    if (!isKept && word === 'product_not_found')
      log.warn({ purchaseId, ...about }, 'the catalogue does not have a product that was bought: it is granted once the catalogue has it');
    return true;
  }

  /** Handles kept notifications again when they are due, until the returned queue is closed. */
  takeOver(): DueQueue {
    return this.#journal.takeOver((purchaseId) => this.check(purchaseId), LEASE_MS, this.#options.log);
  }

  /**
   * Handles a kept notification again.
   * @returns when the notification is due again, in milliseconds since 1970; undefined if it is no longer kept
   */
  async check(purchaseId: string): Promise<number | undefined> {
    const { scripts, purchases, counts, now } = this.#options;
    const notice = await readNotice(purchaseId, scripts);
    if (notice === undefined) return undefined;
    if (notice.dueAt > now()) return notice.dueAt;
    const { store, id, packageName, unknowns } = notice;
    if (purchases.sellerOf(store) === undefined) return this.#repeat(purchaseId, notice, { waitMs: UNCONFIGURED_WAIT_MS });
    const askedAt = now();
    let word: Awaited<ReturnType<PurchaseJournal['noticed']>>['word'];
    try {
      ({ word } = await purchases.noticed(store, id, packageName));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      counts.failed('look');
      return this.#repeat(purchaseId, notice);
    }
    if (word === 'recorded' || word === 'ignored') {
      await dropNotice(purchaseId, '', scripts);
      return undefined;
    }
    if (word === 'product_not_found') return this.#repeat(purchaseId, notice);
    if (unknowns + 1 < UNKNOWN_TRIES) return this.#repeat(purchaseId, notice, { unknowns: unknowns + 1 });
    return (await dropNotice(purchaseId, askedAt, scripts)) ? undefined : now();
  }

  /**
   * Schedules the next attempt. Gives up when the notification is older than REFUNDED_MS, because Google has then refunded the purchase.
   */
  async #repeat(
    purchaseId: string,
    { noticedAt, unknowns, faults }: KeptNotice,
    change: { readonly unknowns?: number; readonly waitMs?: number } = {},
  ): Promise<number | undefined> {
    const { scripts, log, now } = this.#options;
    if (noticedAt + REFUNDED_MS < now()) {
      log.error({ purchaseId }, 'gave up a notification of a purchase: the app store refunds what is not granted within three days');
      await dropNotice(purchaseId, '', scripts);
      return undefined;
    }
    const dueAt = now() + (change.waitMs ?? backoffMs(faults + 1));
    await postponeNotice(purchaseId, { unknowns: change.unknowns ?? unknowns, faults: faults + 1, dueAt }, scripts);
    return dueAt;
  }
}
