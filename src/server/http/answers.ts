import type { Logger } from 'pino';
import { rateLimited, Refusal } from '../../errors.ts';
import type { Origins } from '../identity/origin.ts';
import { Encoded, okBody, Reply, type EndpointDeclaration } from './endpoint.ts';
import type { Exchange } from './exchange.ts';
import { refusalOf, sendNotFound, sendRefusal, type NotFoundPage } from './error-answer.ts';
import { responseLines, type Headers } from './response-headers.ts';

export interface AnswersOptions {
  readonly origins: Origins;
  readonly log: Logger;
  readonly notFoundPage: NotFoundPage;
}

export class Answers {
  readonly #endpoint: EndpointDeclaration;
  readonly #options: AnswersOptions;
  readonly #mediaType: string;
  /** The CORS headers of most replies: the replies to requests without an allowed origin. */
  readonly #usualCors: Headers;
  /**
   * The header lines of most replies: status 200, no cookie. Computing them for each reply would take 0.2 of the 6 µs that a request takes
   * (bench:micro).
   */
  readonly #usualLines: string;

  constructor(endpoint: EndpointDeclaration, options: AnswersOptions) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#mediaType = endpoint.mediaType ?? 'application/json';
    this.#usualCors = options.origins.corsHeaders('');
    this.#usualLines = responseLines(200, this.#mediaType, this.#usualCors);
  }

  /**
   * Settles the reservations of a request, and replies. A reserved creation stays used up even if the call failed: otherwise failing calls
   * would not be limited.
   */
  settle(exchange: Exchange, answer: unknown): void {
    exchange.reserved?.settleMiss(answer, this.#endpoint.misses);
    const { writesEntry, writesBytes } = this.#endpoint;
    if (writesEntry !== undefined && !mayHaveWritten(answer, writesEntry)) exchange.reserved?.giveBack('entries');
    if (writesBytes !== undefined && !mayHaveWritten(answer, writesBytes.hasWritten)) exchange.reserved?.giveBack('saveBytes');
    this.reply(exchange, answer);
  }

  /** Replies to a request whose handling threw an error: with the refusal for this error (`refusalOf`). Settles the reservations too. */
  fail(exchange: Exchange, error: unknown): void {
    this.settle(exchange, refusalOf(error, exchange, this.#endpoint.path, this.#options.log));
  }

  /** Replies to a request that has made no reservations. */
  reply(exchange: Exchange, answer: unknown): void {
    const cors = this.#endpoint.anyOrigin === true ? ANY_ORIGIN : this.#options.origins.corsHeaders(exchange.headers.origin);
    if (answer instanceof Refusal) {
      // The connection closes after this answer, because the rest of the body stays unread.
      if (answer.code === 'payload_too_large') exchange.closeAfterAnswer();
      // An endpoint of many pages has a page for the person who asked for one that it lacks.
      const { notFoundPage } = this.#options;
      const isPage = answer.code === 'not_found' && this.#mediaType === notFoundPage.mediaType;
      return isPage ? sendNotFound(exchange, notFoundPage, undefined, cors) : sendRefusal(exchange, answer, cors);
    }
    if (answer instanceof Reply) {
      const { status, mediaType = this.#mediaType, cookies } = answer;
      const headers: Headers = [...answer.headers, ...cookies.map((cookie) => ['set-cookie', cookie] as const), ...cors];
      const body = encode(answer.body);
      if (body.length > SMALL_LENGTH && this.#refuseLarge(exchange, body, cors)) return;
      return exchange.send(status, body, responseLines(status, mediaType, headers));
    }
    const body = encode(answer as object);
    if (body.length > SMALL_LENGTH && this.#refuseLarge(exchange, body, cors)) return;
    const lines = cors === this.#usualCors ? this.#usualLines : responseLines(200, this.#mediaType, cors);
    exchange.send(200, body, lines);
  }

  /**
   * Charges the client for a large answer, and refuses the request if the client is past its limit. A POST has already done its work, so
   * its answer is never refused. No answer to a POST is much larger than the state of a room, except the refusal of a stale save, which charges for itself.
   */
  #refuseLarge(exchange: Exchange, body: string | Buffer, cors: Headers): boolean {
    const { method, unlimited } = this.#endpoint;
    if (method !== 'GET' || unlimited === true || exchange.isHead) return false;
    const requests = Math.floor(Buffer.byteLength(body) / BYTES_PER_REQUEST);
    const waitMs = requests === 0 ? 0 : exchange.chargeMore(requests);
    if (waitMs > 0) sendRefusal(exchange, rateLimited(waitMs), cors);
    return waitMs > 0;
  }
}

/**
 * Whether the call with this answer may have used the units that it reserved of a daily budget. @param hasWritten whether the call with
 * this reply has
 */
function mayHaveWritten(answer: unknown, hasWritten: (reply: never) => boolean): boolean {
  if (answer instanceof Refusal) return answer.code === 'internal' || answer.details['outcome'] === 'unknown';
  return hasWritten((answer instanceof Reply ? answer.body : answer) as never);
}

/** The same answer, with these cookies added. A refusal gets no cookies. */
export function withCookies(answer: unknown, cookies: readonly string[]): unknown {
  if (answer instanceof Refusal) return answer;
  if (!(answer instanceof Reply)) return new Reply(answer as object, { cookies });
  return new Reply(answer.body, { ...answer, cookies: [...answer.cookies, ...cookies] });
}

function encode(body: object | Encoded): string | Buffer {
  return body instanceof Encoded ? body.wire : okBody(body);
}

/**
 * The bytes of an answer for which the request itself pays. Each further 16 KiB of a large answer counts as another request. So an address
 * with 50 requests a second gets 800 KiB a second, and not 25 MB.
 */
const BYTES_PER_REQUEST = 16 * 1024;

/** A text of up to this many UTF-16 units has at most BYTES_PER_REQUEST bytes in UTF-8. */
const SMALL_LENGTH = BYTES_PER_REQUEST / 3;

/** The CORS headers of endpoints that pages of every origin may read, also pages that set `Cross-Origin-Embedder-Policy`. */
const ANY_ORIGIN: Headers = [
  ['access-control-allow-origin', '*'],
  ['cross-origin-resource-policy', 'cross-origin'],
];
