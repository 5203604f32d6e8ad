import { refuse, type Refusal } from '../../errors.ts';
import { LruCache } from '../lru-cache.ts';

/** The most milliseconds for which an upgrade is held back. A client gives up after four seconds, and the network takes a part of them. */
const HELD_MS = 1500;

/** How far channels may run ahead of their rate, in milliseconds. In quiet times no channel is held back. */
const AHEAD_MS = 50;

/** The most refused clients whose reason is remembered. */
const MOST_REASONS = 10_000;

/**
 * The times that were given to clients of one address which wanted to watch the same thing, the earliest first, on the clock of
 * `performance.now()`.
 */
type GivenTimes = number[];

/**
 * Spreads the channels that open. After an outage all clients of a process come back within seconds, and each costs several round trips to
 * Redis. Without a bound the players who are back already would have to wait for the others.
 *
 * At most CHANNELS_PER_SECOND channels open each second. Further channels wait for up to HELD_MS. Channels that would have to wait longer
 * are refused. Each refused client gets a different `retryAfterMs`, so that these clients come back at the same rate.
 */
export class Arrivals {
  readonly #intervalMs: number;
  /** When the next channel may open, on the clock of `performance.now()`. */
  #nextAt = 0;
  /** The time that was given to the last refused client. */
  #lastGivenAt = 0;
  readonly #given = new LruCache<string, GivenTimes>(MOST_REASONS);

  constructor(perSecond: number) {
    this.#intervalMs = 1000 / perSecond;
  }

  /** Gives a channel its turn. @returns the milliseconds until then, or the refusal if they are too many */
  take(): number | Refusal {
    const now = performance.now();
    const waitMs = Math.max(0, this.#nextAt - now);
    if (waitMs <= HELD_MS) {
      this.#nextAt = Math.max(this.#nextAt, now - AHEAD_MS) + this.#intervalMs;
      return waitMs;
    }
    this.#lastGivenAt = Math.max(this.#lastGivenAt, this.#nextAt) + this.#intervalMs;
    return tooManyAt(this.#lastGivenAt, now);
  }

  /**
   * Notes a refusal for a client that cannot read it: a browser does not tell a page why its WebSocket could not open. The page then reads
   * the thing over HTTP, and gets the refusal there.
   */
  note(address: string, thing: string): void {
    const name = `${address} ${thing}`;
    const given = this.#given.get(name) ?? [];
    this.#given.set(name, given);
    given.push(this.#lastGivenAt);
  }

  /**
   * The refusal that was noted for a client which reads a thing; each is returned once. Undefined: none was noted, or the client need not
   * wait any longer.
   */
  refusalOf(address: string, thing: string): Refusal | undefined {
    const name = `${address} ${thing}`;
    const given = this.#given.get(name);
    if (given === undefined) return undefined;
    const now = performance.now();
    while (given.length > 0 && given[0]! < now) given.shift();
    const at = given.shift();
    return at === undefined ? undefined : tooManyAt(at, now);
  }
}

function tooManyAt(time: number, now: number): Refusal {
  return refuse('overloaded', { message: 'Too many channels open at once.', retryAfterMs: Math.ceil(time - now) });
}
