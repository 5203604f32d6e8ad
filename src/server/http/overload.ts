import { errors, refuse } from '../../errors.ts';
import type { Admission } from '../admission.ts';
import type { Origins } from '../identity/origin.ts';
import { bodyUpToRequestId } from './error-answer.ts';
import type { Exchange } from './exchange.ts';
import { headerLines, responseLines } from './response-headers.ts';

/**
 * Refuses the requests beyond MAX_IN_FLIGHT, with the code `overloaded`. `Admission` counts the requests in flight.
 *
 * A refusal costs a fifth of what a coin credit costs (`npm run bench -- overload`). Suppose that four times as many requests come as a
 * process can serve: if it sent every refusal at once, it would serve only half of the requests that it can serve. So the process sends
 * REFUSALS_AT_ONCE at once in each interval of the sweep, and holds further refusals back for up to HELD_MS. A connection whose refusal is
 * held back sends no other request, so a client that ignores `Retry-After` cannot take more of the process's time.
 *
 * A refused connection stays open: accepting a new connection would cost several times as much as a refusal.
 */
export class Overload {
  readonly #origins: Origins;
  readonly #admission: Admission;
  #left = REFUSALS_AT_ONCE;
  /**
   * Exchanges whose refusals are held back, the oldest first. `untilMs`: when the refusal is sent at the latest, on the clock of
   * `performance.now()`.
   */
  #held: { readonly exchange: Exchange; readonly untilMs: number }[] = [];

  constructor(origins: Origins, admission: Admission) {
    this.#origins = origins;
    this.#admission = admission;
  }

  /** Refuses a request whose body is not read yet, if MAX_IN_FLIGHT requests are in flight. @returns whether the request was refused */
  refusesUnread(exchange: Exchange): boolean {
    const { isFull } = this.#admission;
    if (isFull) this.#refuse(exchange);
    return isFull;
  }

  /** Counts a request among those in flight, or refuses it if MAX_IN_FLIGHT are in flight. @returns whether the request was refused */
  refuses(exchange: Exchange): boolean {
    const hasPlace = exchange.takePlace();
    if (!hasPlace) this.#refuse(exchange);
    return !hasPlace;
  }

  #refuse(exchange: Exchange): void {
    if (this.#left > 0) return this.#send(exchange);
    // The exchange gets no deadline, because at a deadline it would be answered 503 `store_unavailable` instead.
    exchange.setDeadline(Infinity);
    this.#held.push({ exchange, untilMs: exchange.startedAt + HELD_MS });
  }

  /** Begins the next interval, and sends refusals that were held back. @param now on the clock of `performance.now()` */
  sweep(now: number): void {
    this.#left = REFUSALS_AT_ONCE;
    let sent = 0;
    for (const { exchange, untilMs } of this.#held) {
      if (this.#left <= 0 && untilMs > now) break;
      this.#send(exchange);
      sent++;
    }
    if (sent > 0) this.#held = this.#held.slice(sent);
  }

  /** Sends the refusal now. Its bytes are constant except for the request's id. */
  #send(exchange: Exchange): void {
    // The client of a refusal that was held back may have gone.
    if (exchange.isFinished) return;
    this.#left--;
    const cors = this.#origins.corsHeaders(exchange.headers.origin);
    const lines = cors.length === 0 ? LINES : LINES + headerLines(cors);
    exchange.send(errors.overloaded.status, `${BODY_UP_TO_REQUEST_ID}"${exchange.requestId}"}`, lines, REFUSAL);
  }
}

/** The most refusals in one interval of the sweep, 100 ms. Sending so many takes 2 to 4 % of a core. */
const REFUSALS_AT_ONCE = 200;

/** The `Retry-After` of the refusal, in milliseconds. */
const RETRY_AFTER_MS = 1000;

/**
 * The most milliseconds for which a refusal is held back. `Retry-After` asks the client to wait for as long anyway, so holding a refusal
 * back makes no client wait longer.
 */
const HELD_MS = RETRY_AFTER_MS;

const REFUSAL = refuse('overloaded', { retryAfterMs: RETRY_AFTER_MS });
const BODY_UP_TO_REQUEST_ID = bodyUpToRequestId(REFUSAL);
const LINES = responseLines(errors.overloaded.status, 'application/json', [['retry-after', String(RETRY_AFTER_MS / 1000)]]);
