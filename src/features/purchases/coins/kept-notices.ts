import type { Logger } from 'pino';
import { Refusal } from '../../../errors.ts';
import { backoffMs } from '../../../journal/backoff.ts';
import type { DueQueue } from '../../../redis/due-queue.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { StoreName } from '../../../stores/stores.ts';
import { LEASE_MS, UNCONFIGURED_WAIT_MS } from '../core/check-schedule.ts';
import { readFields, type PurchaseFields } from '../core/purchase-fields.ts';
import { purchaseIdOf } from '../core/purchase-ids.ts';
import { purchaseScript } from '../core/purchase-script.ts';
import { UNKNOWN_TRIES, WaitingPurchases, type NamedPurchase } from '../core/waiting-purchases.ts';
import { purchaseKeys } from './model.ts';
import type { PurchaseCounts } from './purchase-counts.ts';
import type { CoinPurchases } from './coin-purchases.ts';

export const keepNoticeScript = purchaseScript(
  new URL('keep-notice.lua', import.meta.url),
  ['store', 'id', 'packageName', 'unknowns', 'dueAt', 'act'],
  ['kept'],
);

/**
 * How long a notification is kept, in milliseconds. Three days are enough, because Google then refunds a purchase that is not acknowledged.
 */
const REFUNDED_MS = 3 * 86_400_000;

export interface KeptNoticesOptions {
  readonly scripts: ScriptRunner;
  readonly purchases: Pick<CoinPurchases, 'noticed' | 'sellerOf'>;
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
  readonly #waiting: WaitingPurchases;

  constructor(options: KeptNoticesOptions) {
    this.#options = options;
    const { scripts, now } = options;
    this.#waiting = new WaitingPurchases({ name: purchaseKeys.noticesDue, keyOf: purchaseKeys.notice, takeOverMs: LEASE_MS, scripts, now });
  }

  /**
   * Handles the store's notification of a purchase as `CoinPurchases.noticed` does, and keeps it if the purchase cannot be recorded yet.
   * @param how `mayBeNew`: whether the purchase may be new (`PurchaseHint`). Notifications of other purchases are not kept, because there
   * is nothing to book for them. `answersFirst`: whether a notification of a new purchase is kept before the store is asked
   * (`NotificationEndpoint`). `asksForUse`: as in `PurchaseHint`
   * @returns whether the purchase is recorded, or its notification is kept
   * @throws Refusal `app_store_unavailable`, `store_unavailable`: the store has to send the notification again
   */
  async noticed(
    of: NamedPurchase,
    { mayBeNew, answersFirst, asksForUse = false }: { mayBeNew: boolean; answersFirst: boolean; asksForUse?: boolean },
  ): Promise<boolean> {
    const { scripts, purchases, log, now } = this.#options;
    const { word, ...about } = await purchases.noticed(of, { asks: !answersFirst, asksForUse });
    if (word === 'recorded') return true;
    if (word === 'ignored' || !mayBeNew) return false;
    const purchaseId = purchaseIdOf(of.store, of.id);
    const purchase = purchaseKeys.notice(purchaseId);
    const isKept = (await readFields(purchase, scripts)) !== undefined;
    if (!isKept) await this.#waiting.refuseIfFull(purchaseId);
    const notice = { ...of, unknowns: word === 'unknown' ? 1 : 0, dueAt: now() + (answersFirst ? 0 : backoffMs(1)) };
    await this.#waiting.keep(purchaseId, async (act) => Number((await scripts.run(keepNoticeScript, { purchase }, { ...notice, act }))[1]));
    if (!isKept && word === 'product_not_found')
      log.warn({ purchaseId, ...about }, 'the catalogue does not have a product that was bought: it is granted once the catalogue has it');
    return true;
  }

  /** Handles kept notifications again when they are due, until the returned queue is closed. */
  takeOver(): DueQueue {
    return this.#waiting.takeOver((purchaseId) => this.check(purchaseId), LEASE_MS, this.#options.log);
  }

  /**
   * Handles a kept notification again.
   * @returns when the notification is due again, in milliseconds since 1970; undefined if it is no longer kept
   */
  async check(purchaseId: string): Promise<number | undefined> {
    const { scripts, purchases, counts, now } = this.#options;
    const notice = await readFields(purchaseKeys.notice(purchaseId), scripts);
    if (notice === undefined) return undefined;
    if (notice.number('dueAt') > now()) return notice.number('dueAt');
    const store = notice.text('store') as StoreName;
    const unknowns = notice.number('unknowns');
    if (purchases.sellerOf(store) === undefined) return this.#repeat(purchaseId, notice, unknowns, UNCONFIGURED_WAIT_MS);
    const askedAt = now();
    let word: Awaited<ReturnType<CoinPurchases['noticed']>>['word'];
    try {
      ({ word } = await purchases.noticed({ store, id: notice.text('id'), packageName: notice.text('packageName') }));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      counts.failed(store, 'look');
      return this.#repeat(purchaseId, notice, unknowns);
    }
    if (word === 'recorded' || word === 'ignored') return this.#waiting.forget(purchaseId);
    if (word === 'product_not_found' || word === 'not_yet') return this.#repeat(purchaseId, notice, unknowns);
    return unknowns + 1 < UNKNOWN_TRIES ? this.#repeat(purchaseId, notice, unknowns + 1) : this.#waiting.forget(purchaseId, askedAt);
  }

  /**
   * Schedules the next attempt. Gives up if the notification is older than REFUNDED_MS, because Google has refunded the purchase by then.
   */
  async #repeat(purchaseId: string, notice: PurchaseFields, unknowns: number, waitMs?: number): Promise<number | undefined> {
    const { log, now } = this.#options;
    if (notice.number('noticedAt') + REFUNDED_MS >= now()) {
      return this.#waiting.repeat(purchaseId, { unknowns, faults: notice.number('faults') + 1 }, waitMs);
    }
    log.error({ purchaseId }, 'gave up a notification of a purchase: the app store refunds what is not granted within three days');
    return this.#waiting.forget(purchaseId);
  }
}
