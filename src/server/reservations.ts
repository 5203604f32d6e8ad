import { Misses } from './wrong-guesses.ts';
import { RateLimit } from './rate-limit.ts';

/**
 * The things that an address reserves, each with a limit that all workers of a service share: `creations` (new accounts, logins, rooms and
 * the like) and `misses` (wrong guesses) a minute, and `sockets` open at the same time.
 */
export type Reserved = 'creations' | 'misses' | 'sockets';

/**
 * Counts what requests reserve of these limits for their addresses. A request makes a reservation before its work, and afterwards gives
 * back the part that the work did not use.
 */
export interface Reservations {
  /**
   * Reserves one, if one is left. If other requests have reserved all that is left, the promise resolves once they have used their
   * reservations up, or one of them was given back.
   * @returns 0 if it is reserved, else the milliseconds after which the client may try again
   */
  take(kind: Reserved, group: string): number | Promise<number>;
  /** Gives back a reservation that was not needed, or is no longer needed. */
  giveBack(kind: Reserved, group: string): void;
  /** Uses up a reserved miss, so that waiting calls are refused if no miss is left. Does nothing for the other kinds. */
  spend(kind: Reserved, group: string): void;
  /** Takes units from the address's daily budget of this kind (daily-budget.ts): at least `least`, and at most `most`. */
  takeDaily(kind: Daily, group: string, least: number, most: number): Granted | Promise<Granted>;
  /** Gives back units of a daily budget whose data was not written. */
  giveBackDaily(kind: Daily, group: string, count: number): void;
}

/**
 * The kinds of data of which an address without a server key may write only so much a day: `entries` of ledgers, and `saveBytes`, bytes of
 * saves.
 */
export type Daily = 'entries' | 'saveBytes';

/**
 * The units that an address may write now. If `count` is 0: the milliseconds until it may write the least number that the caller asked for.
 */
export interface Granted {
  readonly count: number;
  readonly waitMs: number;
}

export interface ReservationBounds {
  /** The limits of each address per minute. Undefined with RATE_LIMIT=off. */
  readonly perMinute: { readonly creations: number; readonly misses: number } | undefined;
  readonly sockets: number;
  /** The daily budgets of each address. Undefined: no limit. */
  readonly perDay: DailyBounds;
}

/**
 * Milliseconds after which a client may try again to open a socket. It is a guess, because the service cannot know when another socket of
 * the address closes.
 */
const SOCKET_WAIT_MS = 10_000;

export type DailyBounds = Readonly<Record<Daily, number | undefined>>;

const DAY_MS = 86_400_000;

/** Counts the reservations in this process. It is the only process of its service, or the primary process of several workers. */
export class OwnReservations implements Reservations {
  readonly #bounds: ReservationBounds;
  readonly #creations: RateLimit | undefined;
  readonly #misses: Misses | undefined;
  readonly #sockets = new Map<string, number>();
  readonly #daily: Readonly<Record<Daily, RateLimit | undefined>>;
  readonly #monotonic: () => number;

  /** @param monotonic a monotonic clock, in milliseconds */
  constructor(bounds: ReservationBounds, monotonic: () => number) {
    this.#bounds = bounds;
    this.#monotonic = monotonic;
    const limit = (perDay: number | undefined) => (perDay === undefined ? undefined : new RateLimit(perDay, DAY_MS, perDay));
    this.#daily = { entries: limit(bounds.perDay.entries), saveBytes: limit(bounds.perDay.saveBytes) };
    if (bounds.perMinute === undefined) return;
    const { creations, misses } = bounds.perMinute;
    this.#creations = new RateLimit(creations, 60_000, creations);
    this.#misses = new Misses(new RateLimit(misses, 60_000, misses), monotonic);
  }

  take(kind: Reserved, group: string): number | Promise<number> {
    if (kind === 'creations') return this.#creations?.take(group, this.#monotonic()) ?? 0;
    if (kind === 'misses') return this.#misses?.take(group) ?? 0;
    const count = this.#sockets.get(group) ?? 0;
    if (count >= this.#bounds.sockets) return SOCKET_WAIT_MS;
    this.#sockets.set(group, count + 1);
    return 0;
  }

  takeDaily(kind: Daily, group: string, least: number, most: number): Granted {
    return this.#daily[kind]?.takeUpTo(group, this.#monotonic(), least, most) ?? { count: most, waitMs: 0 };
  }

  giveBackDaily(kind: Daily, group: string, count: number): void {
    this.#daily[kind]?.giveBack(group, count);
  }

  giveBack(kind: Reserved, group: string): void {
    if (kind === 'creations') return this.#creations?.giveBack(group);
    if (kind === 'misses') return this.#misses?.settle(group, false);
    const count = (this.#sockets.get(group) ?? 0) - 1;
    if (count > 0) this.#sockets.set(group, count);
    else this.#sockets.delete(group);
  }

  spend(kind: Reserved, group: string): void {
    if (kind === 'misses') this.#misses?.settle(group, true);
  }
}
