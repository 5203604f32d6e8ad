import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { Refusal } from '../../../errors.ts';
import { leaseLibrary } from '../../../redis/lease.ts';
import { defineScript } from '../../../redis/script.ts';
import { within } from '../../../redis/within.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { OneTimeProducts, Refund } from '../../../stores/store.ts';
import type { StoreName } from '../../../stores/stores.ts';
import { purchaseIdOf } from '../core/purchase-ids.ts';
import type { PurchaseCounts } from './purchase-counts.ts';
import { readPurchase } from './purchase-record.ts';
import { purchaseKeys } from './model.ts';
import type { CoinPurchases } from './coin-purchases.ts';

const leaseRefunds = defineScript({
  file: new URL('lease-refunds.lua', import.meta.url),
  keys: ['asked'],
  args: ['holder', 'everyMs', 'leaseMs'],
  answers: ['yours', 'others'],
  library: leaseLibrary,
});

/** Renews the lease of a process that is still asking for refunds. Answers renewed, or gone: another process has the lease. */
const renewRefunds = defineScript({
  name: 'purchases/renew-refunds',
  lua: `
    if redis.call('HGET', asked, 'leasedBy') ~= holder then return {'gone'} end
    set_lease(asked, holder, lease_ms)
    return {'renewed'}`,
  keys: ['asked'],
  args: ['holder', 'leaseMs'],
  answers: ['renewed', 'gone'],
  library: leaseLibrary,
});

const endRefunds = defineScript({
  file: new URL('end-refunds.lua', import.meta.url),
  keys: ['asked'],
  args: ['holder', 'askedAt', 'retryMs'],
  answers: ['ended', 'gone'],
  library: leaseLibrary,
});

/** The interval at which each process checks whether the app store has to be asked for refunds, in milliseconds. */
const POLL_MS = 1000;

/**
 * How long a shutdown waits for the app store's answer, in milliseconds. If no answer came by then, another process asks again once the
 * lease has ended.
 */
const CLOSE_MS = 2000;

/**
 * A process may ask the app store for a page of refunds for this long, in milliseconds, before another process may ask. It does no harm if
 * both ask.
 */
const LEASE_MS = 120_000;

/** The wait before the app store is asked again after a failure, in milliseconds. */
const RETRY_MS = 60_000;

/**
 * A refund may appear in the app store's list this much later than it was made, in milliseconds. So each request asks for refunds since
 * this long before the previous request.
 */
const OVERLAP_MS = 24 * 3_600_000;

/**
 * A check that runs this long after a refund, in milliseconds, has certainly seen the refund, even if the clocks of the store and the
 * service differ.
 */
const CLOCKS_DIFFER_MS = 10 * 60_000;

export interface RefundQuestionsOptions {
  readonly scripts: ScriptRunner;
  readonly purchases: Pick<CoinPurchases, 'sellerOf' | 'bring' | 'takeBackAll'>;
  readonly store: StoreName;
  readonly counts: PurchaseCounts;
  /** Whether the process may write to Redis, which it does to get a lease. False if Redis would exit at its next write. */
  readonly mayWrite: () => boolean;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * Asks the app store at intervals which purchases it has refunded, because the notification of a refund may get lost. Of all processes on
 * one Redis, only the one that holds the lease asks.
 */
export class RefundQuestions {
  readonly #options: RefundQuestionsOptions;
  readonly #holder = randomBytes(9).toString('base64url');
  readonly #timer: NodeJS.Timeout;
  #nextAt = 0;
  #asking: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: RefundQuestionsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#poll(), POLL_MS);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await within(CLOSE_MS, this.#asking ?? Promise.resolve(), () => {});
  }

  #poll(): void {
    const seller = this.#options.purchases.sellerOf(this.#options.store);
    if (seller === undefined || this.#asking !== undefined || !this.#options.mayWrite()) return;
    const waitMs = this.#nextAt - this.#options.now();
    // A wait that is longer than the interval shows that the clock was set back, so the store is asked.
    if (waitMs > 0 && waitMs <= seller.askEveryMs) return;
    this.#asking = this.#askIfDue(seller)
      // Other log lines report an outage of Redis.
      .catch((error: unknown) => this.#options.log.debug({ reason: (error as Error).message }, 'could not ask the app store for refunds'))
      .finally(() => (this.#asking = undefined));
  }

  async #askIfDue(seller: OneTimeProducts): Promise<void> {
    const { scripts, counts, store, now } = this.#options;
    const asked = purchaseKeys.asked(store);
    const args = { holder: this.#holder, everyMs: seller.askEveryMs, leaseMs: LEASE_MS };
    const [word, at] = await scripts.run(leaseRefunds, { asked }, args);
    const askedAt = Number(at);
    counts.askedAt.set(store, askedAt);
    this.#nextAt = Math.max(askedAt + seller.askEveryMs, now() + POLL_MS);
    if (word === 'others') return;
    const startedAt = now();
    const isAnswered = await this.#ask(seller, askedAt - OVERLAP_MS);
    await scripts.run(endRefunds, { asked }, { holder: this.#holder, askedAt: isAnswered ? startedAt : '', retryMs: RETRY_MS });
    if (!isAnswered) return;
    counts.askedAt.set(store, startedAt);
    this.#nextAt = startedAt + seller.askEveryMs;
  }

  /** Asks the app store for refunds since a time. @returns whether the store has answered completely */
  async #ask(seller: OneTimeProducts, since: number): Promise<boolean> {
    const { scripts, store, counts, log } = this.#options;
    try {
      for await (const part of seller.refunds(Math.max(0, since))) {
        if (this.#isClosed) return false;
        await Promise.all(part.map((refund) => this.#notice(refund)));
        const keys = { asked: purchaseKeys.asked(store) };
        const [word] = await scripts.run(renewRefunds, keys, { holder: this.#holder, leaseMs: LEASE_MS });
        if (word === 'gone') return false;
      }
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      counts.failed(store, 'list');
      log.warn({ reason: error.message }, 'the app store did not say which purchases it has taken back');
      return false;
    }
  }

  /** Makes the purchase of a refund due for a check, unless an earlier check has already seen the refund. */
  async #notice({ id, quantity, at }: Refund): Promise<void> {
    const { scripts, purchases, store } = this.#options;
    const purchaseId = purchaseIdOf(store, id);
    const document = await readPurchase(purchaseId, scripts);
    if (document === undefined || document.owner === '-') return;
    const { state, quantity: bought, refunded, tellsRefunds, checkedAt } = document;
    // If all units are refunded by the record, but only some by the list, the store may have reversed a refund.
    const mayBeReversed = tellsRefunds && quantity !== undefined && quantity < bought;
    if (state === 'canceled' || (refunded >= bought && !mayBeReversed)) return;
    // If the store's answer about a purchase does not have the number of refunded units, the record follows the list. The list may have an
    // entry for each refunded part, instead of one entry for the whole purchase.
    const isAll = !tellsRefunds && refunded + (quantity ?? bought) >= bought;
    if (isAll) return purchases.takeBackAll(purchaseId);
    // A check right after the refund may have got an answer of the store without the refund, so the purchase is checked again.
    if (refunded === 0 || checkedAt <= at + CLOCKS_DIFFER_MS) await purchases.bring(purchaseId);
  }
}
