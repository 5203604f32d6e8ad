import { RateLimit } from '../../server/rate-limit.ts';

/** The acts a second that one seat may send over channels, on average. */
const ACTS_PER_SECOND = 30;

/** The most acts that one seat may send over channels at once. */
const ACTS_AT_ONCE = 60;

/** The messages a second that one seat may send over channels and HTTP, on average. */
const MESSAGES_PER_SECOND = 20;

/** The most messages that one seat may send over channels and HTTP at once. */
const MESSAGES_AT_ONCE = 40;

/** The key with which a process finds the budgets of an account's seat in a room. */
export function budgetOf(code: string, accountId: string): string {
  return `${code} ${accountId}`;
}

/**
 * The budgets of acts and messages of each seat, in this process. The budgets apply even with RATE_LIMIT=off, because they protect the
 * other players.
 */
export class SeatBudgets {
  readonly #acts = new RateLimit(ACTS_PER_SECOND, 1000, ACTS_AT_ONCE);
  readonly #messages = new RateLimit(MESSAGES_PER_SECOND, 1000, MESSAGES_AT_ONCE);
  readonly #monotonic: () => number;

  /** @param monotonic gives the time of a monotonic clock in milliseconds */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Counts an act over a channel. @param budget the name from `budgetOf` @returns 0 if the act may pass, else the milliseconds to wait */
  chargeAct(budget: string): number {
    return this.#acts.take(budget, this.#monotonic());
  }

  /** Counts a message. @param budget the name from `budgetOf` @returns 0 if the message may pass, else the milliseconds to wait */
  chargeMessage(budget: string): number {
    return this.#messages.take(budget, this.#monotonic());
  }
}
