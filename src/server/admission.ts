import { Refusal, type ErrorCode } from '../errors.ts';
import type { DailyBudget } from './daily-budget.ts';
import { RateLimit } from './rate-limit.ts';
import type { Daily, Reservations, Reserved } from './reservations.ts';

export interface AdmissionOptions {
  /** The limit on requests of one client address. Undefined with RATE_LIMIT=off: no address, server key or channel has a limit then. */
  readonly requests: { readonly perSecond: number; readonly burst: number } | undefined;
  /** The most acts per second over all live channels of one address. Ignored with RATE_LIMIT=off. */
  readonly actsPerSecond: number;
  /** The most requests per second with one server key. Ignored with RATE_LIMIT=off. */
  readonly keyedPerSecond: number;
  /** The most events per second of one address that `chargeUncounted` counts, such as new connections. Ignored with RATE_LIMIT=off. */
  readonly uncountedPerSecond: number;
  /** The most requests that may be in flight at the same time (MAX_IN_FLIGHT). */
  readonly maxInFlight: number;
  readonly reservations: Reservations;
  /** The daily budgets of each address. Undefined: no limit. */
  readonly daily: Readonly<Record<Daily, DailyBudget | undefined>>;
  /** The current time on a monotonic clock, in milliseconds. */
  readonly monotonic: () => number;
}

/**
 * The limits on requests, requests in flight, creations (new accounts, logins, rooms and the like), misses (wrong guesses of room codes and
 * tokens), sockets and daily budgets. HTTP and the live channels ask this class before they do any work. A `group` is an IPv4 address or
 * an IPv6 /64 (`addressGroup`).
 *
 * Other files hold the limits on connections (`open-connections.ts`), bodies (`http/server.ts`), watchers of a room
 * (`live/open-sockets.ts`), messages a second (`live/socket.ts`) and bytes a second of a room (`live/topic.ts`).
 */
export class Admission {
  readonly #requests: RateLimit | undefined;
  readonly #acts: RateLimit | undefined;
  readonly #keyed: RateLimit | undefined;
  readonly #uncounted: RateLimit | undefined;
  readonly #options: AdmissionOptions;
  #inFlight = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    const { requests } = options;
    this.#requests = requests && new RateLimit(requests.perSecond, 1000, requests.burst);
    this.#acts = requests && new RateLimit(options.actsPerSecond, 1000, 2 * options.actsPerSecond);
    this.#keyed = requests && new RateLimit(options.keyedPerSecond, 1000, 2 * options.keyedPerSecond);
    this.#uncounted = requests && new RateLimit(options.uncountedPerSecond, 1000, 2 * options.uncountedPerSecond);
  }

  /** Whether requests are limited at all: false with RATE_LIMIT=off. */
  get limitsAddresses(): boolean {
    return this.#requests !== undefined;
  }

  /**
   * Counts a request, or a message on a live channel, against its address. Both cost the same.
   * @returns 0 if it may pass, else the milliseconds to wait
   */
  charge(group: string): number {
    return this.#requests?.take(group, this.#options.monotonic()) ?? 0;
  }

  /**
   * Counts an act over a live channel against the address of its client. Acts have a limit apart from that of requests, because several
   * players may share one address.
   */
  chargeAct(group: string): number {
    return this.#acts?.take(group, this.#options.monotonic()) ?? 0;
  }

  /**
   * Counts a request with a server key against the key instead of the address.
   * @returns 0 if it may pass, else the milliseconds to wait
   */
  chargeKey(id: string): number {
    return this.#keyed?.take(id, this.#options.monotonic()) ?? 0;
  }

  /**
   * Counts the events of an address that `charge` does not count: a connection that opens, a request of an `unlimited` endpoint, and the
   * refusal of a request past a limit or with an invalid header.
   * @returns false if the address is past the limit: the caller then closes the connection, and answers only a trusted proxy
   */
  chargeUncounted(group: string): boolean {
    return (this.#uncounted?.take(group, this.#options.monotonic()) ?? 0) === 0;
  }

  /**
   * Counts the extra cost of a request, such as a large answer, for its server key or else for its address.
   * @returns 0 if the request may go on, else the milliseconds to wait
   */
  chargeMore(group: string, keyId: string | undefined, requests: number): number {
    const now = this.#options.monotonic();
    return (keyId === undefined ? this.#requests?.takeMore(group, now, requests) : this.#keyed?.takeMore(keyId, now, requests)) ?? 0;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether MAX_IN_FLIGHT requests are in flight, so that no further one may begin. */
  get isFull(): boolean {
    return this.#inFlight >= this.#options.maxInFlight;
  }

  /** Counts one more request in flight. @returns false if MAX_IN_FLIGHT requests are in flight already */
  takePlace(): boolean {
    if (this.isFull) return false;
    this.#inFlight++;
    return true;
  }

  leavePlace(): void {
    this.#inFlight--;
  }

  /** A daily budget of each address. Undefined: no limit. */
  daily(kind: Daily): DailyBudget | undefined {
    return this.#options.daily[kind];
  }

  /**
   * Makes one reservation of a kind for an address (`Reservations.take`), or reserves `count` units of a daily budget (`DailyBudget.take`).
   * @returns 0 if it is reserved, else the milliseconds to wait
   */
  reserve(kind: Reservable, group: string, count = 1): number | Promise<number> {
    if (isDaily(kind)) return this.#options.daily[kind]?.take(group, count) ?? 0;
    return this.#isLimited(kind) ? this.#options.reservations.take(kind, group) : 0;
  }

  giveBack(kind: Reservable, group: string, count = 1): void {
    if (isDaily(kind)) this.#options.daily[kind]?.giveBack(group, count);
    else if (this.#isLimited(kind)) this.#options.reservations.giveBack(kind, group);
  }

  spend(kind: Reservable, group: string): void {
    if (!isDaily(kind) && this.#isLimited(kind)) this.#options.reservations.spend(kind, group);
  }

  /** With RATE_LIMIT=off only sockets are reserved. A worker would otherwise send the primary process a message at every read of a room. */
  #isLimited(kind: Reserved): boolean {
    return this.limitsAddresses || kind === 'sockets';
  }
}

/** What a request can reserve for its address before it does its work. */
export type Reservable = Reserved | Daily;

/** A kind of reservation, and how many of this kind a request reserves. Only of a daily budget a request may reserve more than one. */
export type Wanted = readonly [kind: Reservable, count: number];

function isDaily(kind: Reservable): kind is Daily {
  return kind === 'entries' || kind === 'saveBytes';
}

/** The reservations that one request, or one upgrade to a WebSocket, holds for its address. */
export class Held {
  readonly #admission: Admission;
  readonly #group: string;
  readonly #wanted: Wanted[] = [];

  constructor(admission: Admission, group: string) {
    this.#admission = admission;
    this.#group = group;
  }

  /**
   * Reserves this kind.
   * @returns 0 if it is reserved, else the milliseconds to wait; a promise only if a worker has to ask its primary, so that the pipeline
   * can otherwise answer within uWS's route handler
   */
  reserve(kind: Reservable, count = 1): number | Promise<number> {
    const waitMs = this.#admission.reserve(kind, this.#group, count);
    return waitMs instanceof Promise ? waitMs.then((found) => this.#add([kind, count], found)) : this.#add([kind, count], waitMs);
  }

  /**
   * Reserves each kind in order.
   * @returns 0 if all are reserved, else the milliseconds to wait for the first kind that was refused
   */
  reserveAll(wanted: readonly Wanted[], from = 0): number | Promise<number> {
    for (let index = from; index < wanted.length; index++) {
      const waitMs = this.reserve(...wanted[index]!);
      if (waitMs instanceof Promise) return waitMs.then((found) => (found > 0 ? found : this.reserveAll(wanted, index + 1)));
      if (waitMs > 0) return waitMs;
    }
    return 0;
  }

  /** Gives back a reservation of this kind that was not needed. Does nothing if the request has reserved none. */
  giveBack(kind: Reservable): void {
    const dropped = this.#drop(kind);
    if (dropped !== undefined) this.#admission.giveBack(kind, this.#group, dropped[1]);
  }

  /** Uses up a reservation of this kind. Does nothing if the request has reserved none. */
  spend(kind: Reservable): void {
    if (this.#drop(kind) !== undefined) this.#admission.spend(kind, this.#group);
  }

  /**
   * Ends the reserved miss (a wrong guess). If the answer is a refusal with one of the codes, the miss is used up; if not, it is given
   * back.
   */
  settleMiss(answer: unknown, codes: readonly ErrorCode[] | undefined): void {
    if (answer instanceof Refusal && codes?.includes(answer.code) === true) this.spend('misses');
    else this.giveBack('misses');
  }

  #drop(kind: Reservable): Wanted | undefined {
    const index = this.#wanted.findIndex(([reserved]) => reserved === kind);
    return index < 0 ? undefined : this.#wanted.splice(index, 1)[0];
  }

  #add(wanted: Wanted, waitMs: number): number {
    if (waitMs === 0) this.#wanted.push(wanted);
    return waitMs;
  }
}
