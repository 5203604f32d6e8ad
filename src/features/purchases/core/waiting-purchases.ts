import type { Logger } from 'pino';
import { refuse } from '../../../errors.ts';
import { backoffMs } from '../../../journal/backoff.ts';
import { Journal } from '../../../journal/journal.ts';
import type { DueQueue } from '../../../redis/due-queue.ts';
import { Queue } from '../../../redis/queue.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { StoreName } from '../../../stores/stores.ts';
import { purchaseScript } from './purchase-script.ts';

export const askAgainScript = purchaseScript(
  new URL('ask-store-again.lua', import.meta.url),
  ['dueAt', 'faults', 'unknowns'],
  ['repeated', 'gone'],
  {
    durable: false,
  },
);

export const forgetUnownedScript = purchaseScript(new URL('forget-unowned.lua', import.meta.url), ['askedAt'], ['forgotten', 'kept'], {
  durable: false,
});

/**
 * A purchase is forgotten after the app store has answered this many times that it does not know the purchase. Failed calls are not
 * counted. Google may send a notification of a purchase before its API knows the purchase. So the waits between the answers add up to about
 * 7 minutes.
 */
export const UNKNOWN_TRIES = 4;

/**
 * The most purchases that wait in one queue. Each takes about a kilobyte. The app store confirms a real purchase within minutes, so the
 * queue is only filled by invented purchases, or by an outage of the store while thousands buy.
 */
const MOST_WAITING = 10_000;

/**
 * The Retry-After for a notification that finds the queue full, in milliseconds. Google's Pub/Sub sends a refused notification again, for a
 * week by default.
 */
const FULL_RETRY_MS = 60_000;

/** A purchase as a notification names it. */
export interface NamedPurchase {
  readonly store: StoreName;
  /** The store's own id of the purchase. */
  readonly id: string;
  readonly packageName: string;
}

export interface WaitingOptions {
  /** The name of the queue. */
  readonly name: string;
  /**
   * The Redis key of the hash that keeps a notification. The hash has the fields hintedAt, unknowns, faults and dueAt, whatever kind of
   * purchase it is.
   */
  readonly keyOf: (purchaseId: string) => string;
  readonly takeOverMs: number;
  readonly scripts: ScriptRunner;
  /** The time now, in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Purchases that a notification named and that no account has yet. The service asks the app store about them until an account gets them.
 */
export class WaitingPurchases {
  readonly #options: WaitingOptions;
  readonly #journal: Journal;

  constructor(options: WaitingOptions) {
    this.#options = options;
    this.#journal = new Journal(options);
  }

  /** @throws Refusal `store_unavailable` if too many purchases wait: the store has to send the notification again */
  async refuseIfFull(purchaseId: string): Promise<void> {
    const { name, scripts } = this.#options;
    if (!(await new Queue(name, scripts).isFull(purchaseId, MOST_WAITING))) return;
    const message = 'Too many notifications wait for the app store: send the notification again later.';
    throw refuse('store_unavailable', { message, retryAfterMs: FULL_RETRY_MS });
  }

  /** Keeps a notification. @param keep writes it, and resolves with the time at which the store is asked */
  keep(purchaseId: string, keep: (act: string) => Promise<number | undefined>): Promise<void> {
    return this.#journal.run(purchaseId, keep);
  }

  /**
   * Schedules the next request to the store.
   * @param counts `faults`: failed questions in a row; `unknowns`: answers in a row that the store does not know the purchase
   * @returns when the next question is due, in milliseconds since 1970
   */
  async repeat(
    purchaseId: string,
    counts: { readonly faults: number; readonly unknowns: number },
    waitMs = backoffMs(counts.faults),
  ): Promise<number> {
    const { scripts, keyOf, now } = this.#options;
    const dueAt = now() + waitMs;
    await scripts.run(askAgainScript, { purchase: keyOf(purchaseId) }, { dueAt, ...counts });
    return dueAt;
  }

  /**
   * Forgets a purchase, unless another notification of it arrived after `askedAt`, the time of the request to the store. If `askedAt` is
   * undefined, forgets it in any case.
   * @returns the time now if the purchase is kept, so that the store is asked again at once
   */
  async forget(purchaseId: string, askedAt?: number): Promise<number | undefined> {
    const { scripts, keyOf, now } = this.#options;
    const [word] = await scripts.run(forgetUnownedScript, { purchase: keyOf(purchaseId) }, { askedAt: askedAt ?? '' });
    return word === 'kept' ? now() : undefined;
  }

  /** Asks the store about the purchases that are due, until the returned queue is closed. */
  takeOver(check: (purchaseId: string) => Promise<number | undefined>, leaseMs: number, log: Logger): DueQueue {
    return this.#journal.takeOver(check, leaseMs, log);
  }
}
