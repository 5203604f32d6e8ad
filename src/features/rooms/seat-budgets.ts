import { RateLimit } from '../../server/rate-limit.ts';

/** Acts of one seat over the channel. */
const ACTS_PER_SECOND = 30;
const ACTS_AT_ONCE = 60;

/** Messages of one seat, over the channel and over HTTP. */
const MESSAGES_PER_SECOND = 20;
const MESSAGES_AT_ONCE = 40;

/** The name of the budgets of an account in a room. */
export function budgetOf(code: string, accountId: string): string {
  return `${code} ${accountId}`;
}

/** Limits of one seat, in this process. They hold with RATE_LIMIT=off too, because they protect the other players. */
export class SeatBudgets {
  readonly #acts = new RateLimit(ACTS_PER_SECOND, 1000, ACTS_AT_ONCE);
  readonly #messages = new RateLimit(MESSAGES_PER_SECOND, 1000, MESSAGES_AT_ONCE);
  readonly #monotonic: () => number;

  /** @param monotonic milliseconds of a monotonic clock */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Counts an act over the channel. @param budget of `budgetOf` @returns 0 if it may pass, else milliseconds to wait. */
  chargeAct(budget: string): number {
    return this.#acts.take(budget, this.#monotonic());
  }

  /** Counts a message. @param budget of `budgetOf` @returns 0 if it may pass, else milliseconds to wait. */
  chargeMessage(budget: string): number {
    return this.#messages.take(budget, this.#monotonic());
  }
}
