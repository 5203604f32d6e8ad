import { errors, refuse } from '../../errors.ts';
import type { Admission } from '../admission.ts';
import type { Origins } from '../identity/origin.ts';
import type { Exchange } from './exchange.ts';
import { headerLines, responseLines } from './response-headers.ts';

/**
 * Decides which requests are beyond MAX_IN_FLIGHT, and refuses them: `overloaded`. `Admission` counts the requests in flight.
 *
 * A refusal costs a fifth of a credit (`npm run bench -- overload`). At four times its capacity, a process that sent every refusal at once
 * would serve only half as much as it can. So the process sends REFUSALS_AT_ONCE at once in each interval of the sweep, and holds further
 * refusals back for up to HELD_MS. A connection whose refusal is held back sends no other request, so a client that ignores `Retry-After`
 * cannot take more of the process's time.
 *
 * A refused connection stays open: accepting it again would cost several times as much as a refusal.
 */
export class Overload {
  readonly #origins: Origins;
  readonly #admission: Admission;
  #left = REFUSALS_AT_ONCE;
  /** Exchanges whose refusals are held back, the oldest first, and until when on the clock of `performance.now()`. */
  #held: { readonly exchange: Exchange; readonly untilMs: number }[] = [];

  constructor(origins: Origins, admission: Admission) {
    this.#origins = origins;
    this.#admission = admission;
  }

  /** Refuses a request whose body is not read yet, if no place is left. @returns whether it was refused */
  refusesUnread(exchange: Exchange): boolean {
    const { isFull } = this.#admission;
    if (isFull) this.#refuse(exchange);
    return isFull;
  }

  /** Takes a place among the requests in flight, or refuses the request. @returns whether it was refused */
  refuses(exchange: Exchange): boolean {
    const hasPlace = exchange.takePlace();
    if (!hasPlace) this.#refuse(exchange);
    return !hasPlace;
  }

  #refuse(exchange: Exchange): void {
    if (this.#left > 0) return this.#send(exchange);
    // The request's own deadline would answer it 503 `store_unavailable`.
    exchange.setDeadline(Infinity);
    this.#held.push({ exchange, untilMs: exchange.startedAt + HELD_MS });
  }

  /** Begins the next interval. @param now on the clock of `performance.now()` */
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

  /** The bytes are constant except for the request's id. */
  #send(exchange: Exchange): void {
    // The client of a held refusal may have gone.
    if (exchange.isFinished) return;
    this.#left--;
    const cors = this.#origins.corsHeaders(exchange.headers.origin);
    const lines = cors.length === 0 ? LINES : LINES + headerLines(cors);
    exchange.send(errors.overloaded.status, `${BODY_UP_TO_REQUEST_ID}"${exchange.requestId}"}`, lines, REFUSAL);
  }
}

/** In 100 ms. These take 2 to 4 % of a core. */
const REFUSALS_AT_ONCE = 200;

/** `Retry-After` of the refusal. */
const RETRY_AFTER_MS = 1000;

/** `Retry-After` asks the client to wait this long anyway, so holding a refusal back delays no client further. */
const HELD_MS = RETRY_AFTER_MS;

const REFUSAL = refuse('overloaded', { retryAfterMs: RETRY_AFTER_MS });
const { code, message, details } = REFUSAL;
const BODY_UP_TO_REQUEST_ID = `${JSON.stringify({ ok: false, error: { code, message, ...details } }).slice(0, -1)},"requestId":`;
const LINES = responseLines(errors.overloaded.status, 'application/json', [['retry-after', String(RETRY_AFTER_MS / 1000)]]);
