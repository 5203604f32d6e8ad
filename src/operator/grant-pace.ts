import { setTimeout as pause } from 'node:timers/promises';
import { rateLimited, type Refusal } from '../errors.ts';

/**
 * The number of accounts that are read, or granted to, at once. Other requests wait for a whole group. With groups of 20 their usual wait
 * rose by half on a busy machine, with groups of 10 by a quarter. Groups of 5 did not shorten their wait further, and take longer, because
 * each group waits for Redis twice.
 */
export const GRANT_GROUP = 10;

/**
 * The number of grants of a process in a second, in all calls together. A higher number would take half of a core and delay other requests.
 */
const GRANTS_PER_SECOND = 1000;

/** The most grants that may wait for their turn. So many grants take ten seconds, and an answer may take twenty. */
const MOST_WAITING = 10_000;

/** Spreads the grants of a process over time. */
export class GrantPace {
  #waiting = 0;
  #freeAt = 0;

  /** @returns false while too many grants wait for their turns */
  begin(grants: number): boolean {
    if (this.#waiting + grants > MOST_WAITING) return false;
    this.#waiting += grants;
    return true;
  }

  end(grants: number): void {
    this.#waiting -= grants;
  }

  /**
   * Works through items in groups, at this pace.
   * @returns the results of all, or Refusal `rate_limited` while too many wait
   */
  async inGroups<Item, Result>(
    items: readonly Item[],
    work: (group: readonly Item[]) => Promise<Result[]>,
  ): Promise<Result[] | Refusal<'rate_limited'>> {
    if (!this.begin(items.length)) return rateLimited(1000);
    try {
      const results: Result[] = [];
      for (let from = 0; from < items.length; from += GRANT_GROUP) {
        await this.turn();
        results.push(...(await work(items.slice(from, from + GRANT_GROUP))));
      }
      return results;
    } finally {
      this.end(items.length);
    }
  }

  /** Waits until the next group may get its coins. */
  async turn(): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, this.#freeAt);
    this.#freeAt = at + (GRANT_GROUP * 1000) / GRANTS_PER_SECOND;
    if (at > now) await pause(at - now);
  }
}
