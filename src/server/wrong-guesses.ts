import type { RateLimit } from './rate-limit.ts';

/**
 * How often one address guesses at room codes, tokens and the like: the number of its guesses that are being checked, and those that wait
 * for their check.
 */
interface Guessing {
  open: number;
  readonly waiting: ((waitMs: number) => void)[];
}

/**
 * Limits the wrong guesses of each address: each guess reserves a miss before it is checked. Several people behind one address may guess
 * right at the same time. So a guess waits if other guesses have reserved all misses, mostly for no longer than a round trip to Redis.
 */
export class Misses {
  readonly #limit: RateLimit;
  readonly #monotonic: () => number;
  readonly #guessing = new Map<string, Guessing>();

  constructor(limit: RateLimit, monotonic: () => number) {
    this.#limit = limit;
    this.#monotonic = monotonic;
  }

  take(group: string): number | Promise<number> {
    const guessing = this.#guessing.get(group);
    const waitMs = guessing !== undefined && guessing.waiting.length > 0 ? 1 : this.#limit.take(group, this.#monotonic());
    if (waitMs > 0) return guessing === undefined ? waitMs : new Promise((resolve) => guessing.waiting.push(resolve));
    if (guessing === undefined) this.#guessing.set(group, { open: 1, waiting: [] });
    else guessing.open++;
    return 0;
  }

  /** Ends a guess whose result is known, and admits or refuses the guesses that wait. */
  settle(group: string, isMiss: boolean): void {
    if (!isMiss) this.#limit.giveBack(group);
    const guessing = this.#guessing.get(group);
    if (guessing === undefined) return;
    guessing.open--;
    let waitMs = 0;
    while (guessing.waiting.length > 0) {
      waitMs ||= this.#limit.take(group, this.#monotonic());
      if (waitMs > 0 && guessing.open > 0) return;
      if (waitMs === 0) guessing.open++;
      guessing.waiting.shift()!(waitMs);
    }
    if (guessing.open === 0) this.#guessing.delete(group);
  }
}
