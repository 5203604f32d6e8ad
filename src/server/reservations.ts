import { RateLimit } from './rate-limit.ts';

/**
 * What an address may have only so much of in a whole service, however many workers it has: `creations` and `misses` a
 * minute, and `sockets` open at once.
 */
export type Reserved = 'creations' | 'misses' | 'sockets';

/** Limits that are reserved before the work, and given back where the work did not need them. */
export interface Reservations {
  /**
   * Reserves one, where there is one left. Where all that is left is reserved for work under way, the answer waits until it
   * is known whether that work needed it.
   * @returns 0 where it is reserved, else the milliseconds after which to ask again
   */
  take(kind: Reserved, group: string): number | Promise<number>;
  /** It was not needed, or is not any more. */
  giveBack(kind: Reserved, group: string): void;
  /** A miss was one: whoever waits for it waits in vain. The other kinds need no word. */
  keep(kind: Reserved, group: string): void;
}

export interface ReservationBounds {
  /** Undefined: RATE_LIMIT=off. */
  readonly perMinute: { readonly creations: number; readonly misses: number } | undefined;
  readonly sockets: number;
}

/** When to ask again for a socket: nobody knows when one of the others closes. */
const SOCKET_WAIT_MS = 10_000;

/** Counts in this process: the only one of its service, or the primary of several workers. */
export class OwnReservations implements Reservations {
  readonly #bounds: ReservationBounds;
  readonly #creations: RateLimit | undefined;
  readonly #misses: Misses | undefined;
  readonly #sockets = new Map<string, number>();
  readonly #now: () => number;

  constructor(bounds: ReservationBounds, now: () => number) {
    this.#bounds = bounds;
    this.#now = now;
    if (bounds.perMinute === undefined) return;
    const { creations, misses } = bounds.perMinute;
    this.#creations = new RateLimit(creations, 60_000, creations);
    this.#misses = new Misses(new RateLimit(misses, 60_000, misses), now);
  }

  take(kind: Reserved, group: string): number | Promise<number> {
    if (kind === 'creations') return this.#creations?.take(group, this.#now()) ?? 0;
    if (kind === 'misses') return this.#misses?.take(group) ?? 0;
    const count = this.#sockets.get(group) ?? 0;
    if (count >= this.#bounds.sockets) return SOCKET_WAIT_MS;
    this.#sockets.set(group, count + 1);
    return 0;
  }

  giveBack(kind: Reserved, group: string): void {
    if (kind === 'creations') return this.#creations?.giveBack(group);
    if (kind === 'misses') return this.#misses?.settle(group, false);
    const count = (this.#sockets.get(group) ?? 0) - 1;
    if (count > 0) this.#sockets.set(group, count);
    else this.#sockets.delete(group);
  }

  keep(kind: Reserved, group: string): void {
    if (kind === 'misses') this.#misses?.settle(group, true);
  }
}

/** Guesses of one address of which nobody knows yet whether they are right, and those that wait to be made. */
interface Guessing {
  open: number;
  readonly waiting: ((waitMs: number) => void)[];
}

/**
 * Wrong guesses, counted before they are made. Many people behind one address may ask for right ones at the same time: what
 * finds everything reserved waits, mostly for no longer than a round trip to Redis.
 */
class Misses {
  readonly #limit: RateLimit;
  readonly #now: () => number;
  readonly #guessing = new Map<string, Guessing>();

  constructor(limit: RateLimit, now: () => number) {
    this.#limit = limit;
    this.#now = now;
  }

  take(group: string): number | Promise<number> {
    const guessing = this.#guessing.get(group);
    const waitMs = guessing !== undefined && guessing.waiting.length > 0 ? 1 : this.#limit.take(group, this.#now());
    if (waitMs > 0) return guessing === undefined ? waitMs : new Promise((resolve) => guessing.waiting.push(resolve));
    if (guessing === undefined) this.#guessing.set(group, { open: 1, waiting: [] });
    else guessing.open++;
    return 0;
  }

  /** A guess is known to be right or wrong. */
  settle(group: string, isMiss: boolean): void {
    if (!isMiss) this.#limit.giveBack(group);
    const guessing = this.#guessing.get(group);
    if (guessing === undefined) return;
    guessing.open--;
    let waitMs = 0;
    while (guessing.waiting.length > 0) {
      waitMs ||= this.#limit.take(group, this.#now());
      if (waitMs > 0 && guessing.open > 0) return;
      if (waitMs === 0) guessing.open++;
      guessing.waiting.shift()!(waitMs);
    }
    if (guessing.open === 0) this.#guessing.delete(group);
  }
}
