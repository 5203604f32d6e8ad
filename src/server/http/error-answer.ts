import type { Logger } from 'pino';
import { SessionEnded } from '../../accounts/caller-scripts.ts';
import { errors, refuse, Refusal } from '../../errors.ts';
import { redisFailure } from '../../redis/script-runner.ts';
import { accepts } from './accepts.ts';
import { errorForLog } from './answer-log.ts';
import type { Exchange } from './exchange.ts';
import { responseLines, type Headers } from './response-headers.ts';

/** The page for a person whose browser asks for a path that does not exist. It takes the place of the error body. */
export interface NotFoundPage {
  readonly mediaType: string;
  readonly headers: Headers;
  /** Makes the page. @param near the same path without a slash at its end, if such a path exists */
  readonly text: (near: string | undefined, requestId: string) => string;
}

/** Answers 404: with a page if the client accepts HTML, as a browser does, else with the error body. */
export function sendNotFound(exchange: Exchange, page: NotFoundPage, near: string | undefined, headers: Headers): void {
  const refusal = refuse('not_found');
  const varying: Headers = [['vary', 'Accept'], ...headers];
  if (!accepts(exchange.headers.accept, 'text/html')) return sendRefusal(exchange, refusal, varying);
  exchange.send(404, page.text(near, exchange.requestId), responseLines(404, page.mediaType, [...varying, ...page.headers]), refusal);
}

/** The error body of the contract, up to the value of its last field, the request's id. */
export function bodyUpToRequestId({ code, message, details }: Refusal): string {
  return `${JSON.stringify({ ok: false, error: { code, message, ...details } }).slice(0, -1)},"requestId":`;
}

/** Answers with the error body, and with Retry-After if the refusal names a time. */
export function sendRefusal(exchange: Exchange, refusal: Refusal, headers: Headers): void {
  const { status } = errors[refusal.code];
  const { retryAfterMs } = refusal.details;
  const retryAfter: Headers = retryAfterMs === undefined ? [] : [['retry-after', String(Math.ceil(retryAfterMs / 1000))]];
  const body = `${bodyUpToRequestId(refusal)}"${exchange.requestId}"}`;
  exchange.send(status, body, responseLines(status, 'application/json', [...retryAfter, ...headers]), refusal);
}

/**
 * The refusal for a thrown error. SessionEnded leads to a refusal only for a bearer; with a cookie the request is handled again without the
 * cookie. An unexpected error is logged, and the client receives `internal` without any detail.
 */
export function refusalOf(error: unknown, exchange: Exchange, route: string, log: Logger): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof SessionEnded) return invalidBearer();
  const outcome = redisFailure(error);
  if (outcome !== undefined) return redisUnavailable(exchange.mayHaveWritten && outcome === 'unknown', error);
  // Usually the error is in the log line of the answer. But an exchange that is already answered gets no such line, so the error has a line
  // of its own.
  if (exchange.isAnswered) log.error({ err: errorForLog(error), requestId: exchange.requestId, route }, 'request failed');
  return refuse('internal', {}, error);
}

/** The refusal of a bearer that does not verify, has expired, or whose session has ended. */
export function invalidBearer(): Refusal<'session_required'> {
  return refuse('session_required', { message: 'The session token is not valid or its session has ended: sign in again.' });
}

/**
 * The refusal if Redis is unavailable.
 * @param mayHaveWritten whether Redis may have applied the request: the reply then says `outcome:"unknown"`
 * @param cause the error, for the log
 */
export function redisUnavailable(mayHaveWritten: boolean, cause?: unknown): Refusal {
  return refuse('store_unavailable', { retryAfterMs: 1000, ...(mayHaveWritten ? { outcome: 'unknown' } : {}) }, cause);
}
