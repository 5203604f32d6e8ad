import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { within } from '../../redis/within.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { OneTimeProducts, SellingStore, TakenBack } from '../../stores/store.ts';
import { purchaseIdOf } from './model.ts';
import type { PurchaseCounts } from './purchase-counts.ts';
import { readPurchase } from './purchase-record.ts';
import { refundsAskedKey } from './refunds-asked.ts';
import type { Purchases } from './purchases.ts';

const leaseRefunds = defineScript({
  file: new URL('lease-refunds.lua', import.meta.url),
  keys: ['asked'],
  args: ['holder', 'everyMs', 'leaseMs'],
  answers: ['yours', 'others'],
});

const endRefunds = defineScript({
  file: new URL('end-refunds.lua', import.meta.url),
  keys: ['asked'],
  args: ['holder', 'askedAt', 'retryMs'],
  answers: ['ended', 'gone'],
});

/** How often each process looks whether a question is due. */
const LOOK_MS = 1000;

/** A store that does not answer holds up the end of the process for so long. Another process asks again, once the lease is over. */
const CLOSE_MS = 2000;

/** A store of 100,000 refunds in a month is asked for less. After it another process may ask too, which does no harm. */
const LEASE_MS = 120_000;

/** When a question is asked again that was not answered. */
const RETRY_MS = 60_000;

/** The list of a store may be behind its own clock by this much: each question reaches back so far behind the one before. */
const OVERLAP_MS = 24 * 3_600_000;

/** A look at a purchase so long after a refund knows of it, although clocks differ. */
const CLOCKS_DIFFER_MS = 10 * 60_000;

export interface RefundQuestionParts {
  readonly scripts: ScriptRunner;
  readonly purchases: Pick<Purchases, 'sellerOf' | 'bring' | 'takeBackAll'>;
  readonly store: SellingStore;
  readonly counts: PurchaseCounts;
  /** False: Redis would end at its next write. A lease is one. */
  readonly mayWrite: () => boolean;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * Asks an app store from time to time which purchases it has taken back, because the notification of a refund may get lost. One process
 * of all that share a Redis asks.
 */
export class RefundQuestions {
  readonly #parts: RefundQuestionParts;
  readonly #holder = randomBytes(9).toString('base64url');
  readonly #timer: NodeJS.Timeout;
  #nextAt = 0;
  #asking: Promise<void> | undefined;
  #isClosed = false;

  constructor(parts: RefundQuestionParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await within(CLOSE_MS, this.#asking ?? Promise.resolve(), () => {});
  }

  #look(): void {
    const seller = this.#parts.purchases.sellerOf(this.#parts.store);
    if (seller === undefined || this.#asking !== undefined || !this.#parts.mayWrite()) return;
    const waitMs = this.#nextAt - this.#parts.now();
    // A longer wait shows that the clock was set back.
    if (waitMs > 0 && waitMs <= seller.askEveryMs) return;
    this.#asking = this.#askIfDue(seller)
      // While Redis is away other lines say so.
      .catch((error: unknown) => this.#parts.log.debug({ reason: (error as Error).message }, 'could not ask the app store for refunds'))
      .finally(() => (this.#asking = undefined));
  }

  async #askIfDue(seller: OneTimeProducts): Promise<void> {
    const { scripts, counts, store, now } = this.#parts;
    const asked = refundsAskedKey(store);
    const args = { holder: this.#holder, everyMs: seller.askEveryMs, leaseMs: LEASE_MS };
    const [word, at] = await scripts.run(leaseRefunds, { asked }, args);
    const askedAt = Number(at);
    counts.askedAt = askedAt;
    this.#nextAt = Math.max(askedAt + seller.askEveryMs, now() + LOOK_MS);
    if (word === 'others') return;
    const startedAt = now();
    const isAnswered = await this.#ask(seller, askedAt - OVERLAP_MS);
    await scripts.run(endRefunds, { asked }, { holder: this.#holder, askedAt: isAnswered ? startedAt : '', retryMs: RETRY_MS });
    if (!isAnswered) return;
    counts.askedAt = startedAt;
    this.#nextAt = startedAt + seller.askEveryMs;
  }

  /** @returns whether the store has answered */
  async #ask(seller: OneTimeProducts, since: number): Promise<boolean> {
    const { counts, log } = this.#parts;
    try {
      for await (const part of seller.takenBack(Math.max(0, since))) {
        if (this.#isClosed) return false;
        await Promise.all(part.map((each) => this.#notice(seller.sellsAs, each)));
      }
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      counts.failed('list');
      log.warn({ reason: error.message }, 'the app store did not say which purchases it has taken back');
      return false;
    }
  }

  /** Makes a purchase due for a look, unless a look has seen the refund. */
  async #notice(store: SellingStore, { id, quantity, at }: TakenBack): Promise<void> {
    const { scripts, purchases } = this.#parts;
    const purchaseId = purchaseIdOf(store, id);
    const document = await readPurchase(purchaseId, scripts);
    if (document === undefined || document.owner === '-') return;
    const { state, quantity: bought, refunded, tellsRefunds, checkedAt } = document;
    // A part in the list, where all was refunded, shows that the store may have given the rest back.
    const mayBeReversed = tellsRefunds && quantity !== undefined && quantity < bought;
    if (state === 'canceled' || (refunded >= bought && !mayBeReversed)) return;
    // An answer may leave out that no unit is left. The list has no entry for all of them, where they were refunded some at a time.
    const isAll = !tellsRefunds && refunded + (quantity ?? bought) >= bought;
    if (isAll) return purchases.takeBackAll(purchaseId);
    // A look that found nothing refunded may have come between the refund and its entry in the store's list.
    if (refunded === 0 || checkedAt <= at + CLOCKS_DIFFER_MS) await purchases.bring(purchaseId);
  }
}
