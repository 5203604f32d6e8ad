import { setTimeout as pause } from 'node:timers/promises';

/**
 * Accounts that are looked at, or granted to, at once. Others wait for a whole group: beside groups of 20 their usual wait rose by half on a
 * busy machine, beside groups of 10 by a quarter. Groups of 5 spare them no more, and are slower, as each waits for Redis twice.
 */
export const GRANT_GROUP = 10;

/** Grants that a process makes in a second, of all calls together: half of a core would hold up everybody else's requests. */
const GRANTS_PER_SECOND = 1000;

/** Grants that may wait for their turns. They take ten seconds, and an answer may take twenty. */
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

  /** Waits until the next group may be granted. */
  async turn(): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, this.#freeAt);
    this.#freeAt = at + (GRANT_GROUP * 1000) / GRANTS_PER_SECOND;
    if (at > now) await pause(at - now);
  }
}
