import { isUtf8 } from 'node:buffer';
import type { Logger } from 'pino';
import { errors, invalid, rateLimited, refuse, Refusal } from '../../errors.ts';
import { SessionEnded, storeFailure } from '../../redis/script-runner.ts';
import type { ClientAddresses } from '../address.ts';
import { Held, type Admission } from '../admission.ts';
import { accountIdOf, callerFrom, type Caller } from '../identity/caller.ts';
import { Encoded, okBody, Reply, type Call, type Endpoint, type RequestMeta } from './endpoint.ts';
import { headerLines, type Exchange } from './exchange.ts';
import { MAX_JSON_CONTAINERS, MAX_JSON_DEPTH, tooNestedField } from './json-depth.ts';
import type { Origins } from '../identity/origin.ts';
import { check, checkParams, checkQuery, ExchangeMeta, withoutInstallId } from './request-data.ts';
import type { Reserved } from '../reservations.ts';
import { SESSION_COOKIE, sessionCookie, type Session, type Sessions } from '../identity/sessions.ts';

/** A body's bound, chunked ones too. */
export const BODY_LIMIT_BYTES = 16 * 1024;

/** A request that waits for Redis is answered 503 `store_unavailable` after this long. */
export const STORE_DEADLINE_MS = 2000;

/** A body that takes longer than this to arrive is cut off. */
const BODY_DEADLINE_MS = 10_000;

/** What the pipeline needs besides the endpoint itself. */
export interface PipelineParts<Services> {
  readonly services: Services;
  readonly sessions: Sessions;
  readonly origins: Origins;
  readonly addresses: ClientAddresses;
  readonly admission: Admission;
  /** Set cookies Secure even where a request seems to have come over plain http. */
  readonly secureCookies: boolean;
  readonly log: Logger;
  readonly now: () => number;
}

type Headers = readonly (readonly [string, string])[];

/**
 * The way of one request: validate → identify the caller → reserve what is limited → handle → reply. Handlers take plain
 * data and return their answer; only here are errors caught, and only here does anything reach the exchange.
 */
export class Pipeline<Services> {
  readonly #parts: PipelineParts<Services>;
  readonly #endpoint: Endpoint<Services>;
  readonly #mediaType: string;
  /** What a call reserves for its address before it is handled. */
  readonly #reserves: readonly Reserved[];
  /** The header lines of most answers: 200, no cookie, no CORS. */
  readonly #usualLines: string;

  constructor(endpoint: Endpoint<Services>, parts: PipelineParts<Services>) {
    this.#endpoint = endpoint;
    this.#parts = parts;
    this.#mediaType = endpoint.mediaType ?? 'application/json';
    this.#reserves = [
      ...(endpoint.misses === undefined ? [] : ['misses' as const]),
      ...(endpoint.creates === true ? ['creations' as const] : []),
    ];
    this.#usualLines = responseLines(200, this.#mediaType, []);
  }

  /** @param params path parameters in the order of the path, as sent */
  serve(exchange: Exchange, params: readonly string[]): void {
    if (this.#endpoint.method === 'GET') return this.#admit(exchange, params, undefined);
    // uWS hides the headers that follow one without a name, a Content-Length too: such a body would run as a second request.
    exchange.closing ||= exchange.headers.contentLength === '';
    const bodyRefusal = this.#refuseBeforeBody(exchange);
    if (bodyRefusal !== undefined) return this.#reply(exchange, bodyRefusal);
    exchange.dueIn(BODY_DEADLINE_MS);
    exchange.readBody(BODY_LIMIT_BYTES, (bytes) => {
      if (bytes === undefined) return this.#reply(exchange, refuse('payload_too_large'));
      const body = this.#parseBody(bytes, exchange.headers.transferEncoding !== '');
      if (body instanceof Refusal) return this.#reply(exchange, body);
      this.#admit(exchange, params, body);
    });
  }

  /** Its work may begin, where there is a place for it. A probe takes none: it is answered under any load. */
  #admit(exchange: Exchange, params: readonly string[], body: unknown): void {
    exchange.dueIn(this.#deadlineMs);
    if (this.#endpoint.probe !== true) {
      exchange.hasPlace = this.#parts.admission.takePlace();
      if (!exchange.hasPlace) return this.#reply(exchange, overloaded(exchange));
    }
    this.#run(exchange, params, body);
  }

  #refuseBeforeBody(exchange: Exchange): Refusal | undefined {
    const { cookie, origin, host, contentType, contentLength } = exchange.headers;
    if (cookie !== '' && this.#parts.origins.isForeign(origin, host)) return refuse('cross_site');
    const mediaType = this.#endpoint.form === true ? FORM_MEDIA_TYPE : JSON_MEDIA_TYPE;
    if (!mediaType.test(contentType)) return refuse('unsupported_media_type');
    if (contentLength !== '' && Number(contentLength) > BODY_LIMIT_BYTES) return refuse('payload_too_large');
    return undefined;
  }

  #parseBody(bytes: Buffer, isChunked: boolean): unknown {
    if (isChunked && CHUNK_FRAMING.test(bytes.toString('latin1')))
      return refuse('invalid_json', { message: 'The body holds the framing of chunks.' });
    if (bytes.length === 0 && this.#endpoint.emptyBody === true) return {};
    if (!isUtf8(bytes)) return refuse('invalid_json', { message: 'The body is not valid UTF-8.' });
    const nestedField = tooNestedField(bytes);
    if (nestedField !== undefined) return this.#refuseNesting(nestedField);
    if (this.#endpoint.form === true) return parseForm(bytes.toString());
    try {
      return JSON.parse(bytes.toString()) as unknown;
    } catch {
      return refuse('invalid_json');
    }
  }

  #refuseNesting(field: string): Refusal {
    const message = `Must nest at most ${MAX_JSON_DEPTH} levels deep, the body included, with at most ${MAX_JSON_CONTAINERS} lists and objects`;
    return this.#endpoint.body === undefined ? refuse('invalid_json', { message: `${message}.` }) : invalid(field || 'body', message);
  }

  /** Synchronous wherever nothing has to be waited for. */
  #run(exchange: Exchange, params: readonly string[], body: unknown): void {
    const { caller } = this.#endpoint;
    if (caller === 'none' || caller === 'install') return this.#attempt({ exchange, params, body, session: undefined });
    // A malformed cookie is no session: this does not throw.
    const session = this.#parts.sessions.ofCookies(exchange.headers.cookie);
    if (!(session instanceof Promise)) return this.#attempt({ exchange, params, body, session });
    session.then(
      (found) => this.#attempt({ exchange, params, body, session: found }),
      (error: unknown) => this.#fail(exchange, error),
    );
  }

  /** Answers as the caller whom the attempt's credentials name. */
  #attempt(attempt: Attempt): void {
    const { exchange, session, ignoresInstallId = session !== undefined && this.#endpoint.caller !== 'lenient' } = attempt;
    try {
      const call = this.#validate(attempt, ignoresInstallId);
      const caller = this.#identify(call, session);
      if (caller instanceof Refusal) return this.#settle(exchange, caller);
      call.caller = caller;
      const refusal = exchange.held === undefined && this.#reserves.length > 0 ? this.#reserve(exchange) : undefined;
      if (refusal === undefined) return this.#handle(attempt, call, ignoresInstallId);
      if (refusal instanceof Refusal) return this.#settle(exchange, refusal);
      refusal.then(
        (found) => {
          if (found !== undefined) this.#settle(exchange, found);
          // The client is gone, or was told 503 meanwhile, by which nothing happened: now nothing may.
          else if (exchange.finished || exchange.writing) this.#settle(exchange, storeUnavailable(false));
          else this.#handle(attempt, call, ignoresInstallId);
        },
        (error: unknown) => this.#fail(exchange, error),
      );
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  /** @returns the refusal where the address has used up what this call needs */
  #reserve(exchange: Exchange): Refusal | undefined | Promise<Refusal | undefined> {
    const held = (exchange.held = new Held(this.#parts.admission, exchange.group));
    const reserveFrom = (index: number): Refusal | undefined | Promise<Refusal | undefined> => {
      const kind = this.#reserves[index];
      if (kind === undefined) return undefined;
      const goOn = (waitMs: number) => (waitMs > 0 ? rateLimited(waitMs) : reserveFrom(index + 1));
      const waitMs = held.reserve(kind);
      return waitMs instanceof Promise ? waitMs.then(goOn) : goOn(waitMs);
    };
    return reserveFrom(0);
  }

  #handle(attempt: Attempt, call: PlainCall, ignoredInstallId: boolean): void {
    const { exchange, session } = attempt;
    const { caller } = call;
    const waitSeconds = this.#endpoint.waitSeconds?.(call.query as never) ?? 0;
    if (waitSeconds > 0) exchange.park(waitSeconds * 1000 + STORE_DEADLINE_MS);
    exchange.mayHaveWritten = this.#endpoint.method === 'POST';
    let answer: unknown;
    try {
      answer = this.#endpoint.handle(call as Call<never, never, never, never>, this.#parts.services);
    } catch (error) {
      return this.#fail(exchange, error);
    }
    if (!(answer instanceof Promise)) return this.#settle(exchange, answer);
    const renewal = caller === undefined ? undefined : session?.renewal;
    answer.then(
      (settled: unknown) =>
        this.#settle(exchange, renewal === undefined ? settled : withCookie(settled, sessionCookie(renewal, call.meta.secureCookies))),
      (error: unknown) => {
        const again = caller === undefined ? undefined : this.#withoutSpent(attempt, caller, error, ignoredInstallId);
        if (again === undefined) this.#fail(exchange, error);
        else this.#attempt(again);
      },
    );
  }

  /**
   * The attempt to make where the one before failed for a credential that opens nothing any more: a session that a script
   * reports as signed out counts as not sent, and where the endpoint is lenient, so does one of an account that moved.
   */
  #withoutSpent(attempt: Attempt, caller: Caller, error: unknown, ignoredInstallId: boolean): Attempt | undefined {
    const { session } = attempt;
    const isLenient = this.#endpoint.caller === 'lenient';
    if (isLenient && error instanceof Refusal && error.code === 'sign_in_required')
      return { ...attempt, session: caller.session === undefined ? session : undefined, ignoresInstallId: true };
    if (session === undefined || !(error instanceof SessionEnded)) return undefined;
    this.#parts.sessions.forget(session);
    return { ...attempt, session: undefined, ignoresInstallId: ignoredInstallId && isLenient };
  }

  /** @param ignoringInstallId another credential decides who calls, whatever installId also says, and be it nonsense */
  #validate({ exchange, params, body }: Attempt, ignoringInstallId: boolean): PlainCall {
    return {
      params: checkParams(this.#endpoint.params, params),
      query: checkQuery(this.#endpoint.query, exchange, ignoringInstallId),
      body: check(this.#endpoint.body, ignoringInstallId ? withoutInstallId(body) : body),
      meta: new ExchangeMeta(exchange, this.#parts),
      caller: undefined,
    };
  }

  #identify(call: PlainCall, session: Session | undefined): Caller | undefined | Refusal {
    if (this.#endpoint.caller === 'none') return undefined;
    // Where a session outranks it, `#validate` took the installId away.
    const installId = call.body?.['installId'] ?? call.query?.['installId'];
    if (typeof installId === 'string') return this.#caller(call, accountIdOf(installId), undefined);
    if (session !== undefined) return this.#caller(call, session.accountId, session);
    if (this.#endpoint.caller === 'session') return refuse('session_required');
    return this.#endpoint.caller === 'required' ? refuse('identity_required') : undefined;
  }

  #caller(call: PlainCall, accountId: string, session: Session | undefined): Caller {
    // An endpoint that creates with every call was counted already.
    const admission = this.#endpoint.creates === true ? undefined : this.#parts.admission;
    return callerFrom(call.meta, accountId, session, admission);
  }

  #settle(exchange: Exchange, answer: unknown): void {
    // A creation that was reserved is used up whatever came of it: those who fail at it are not to try as often as they like.
    const isMiss = answer instanceof Refusal && this.#endpoint.misses?.includes(answer.code) === true;
    if (isMiss) exchange.held?.keep('misses');
    else exchange.held?.giveBack('misses');
    this.#reply(exchange, answer);
  }

  #fail(exchange: Exchange, error: unknown): void {
    this.#settle(exchange, refusalOf(error, exchange, this.#endpoint.path, this.#parts.log));
  }

  #reply(exchange: Exchange, answer: unknown): void {
    const cors = this.#parts.origins.corsHeaders(exchange.headers.origin);
    if (answer instanceof Refusal) {
      // The rest of such a body is not worth reading.
      exchange.closing ||= answer.code === 'payload_too_large';
      return sendRefusal(exchange, answer, cors);
    }
    if (answer instanceof Reply) {
      const { status, mediaType = this.#mediaType, cookies } = answer;
      const headers: Headers = [...answer.headers, ...cookies.map((cookie) => ['set-cookie', cookie] as const), ...cors];
      return exchange.send(status, encode(answer.body), responseLines(status, mediaType, headers));
    }
    const lines = cors.length === 0 ? this.#usualLines : responseLines(200, this.#mediaType, cors);
    exchange.send(200, encode(answer as object), lines);
  }

  get #deadlineMs(): number {
    return this.#endpoint.deadlineMs ?? STORE_DEADLINE_MS;
  }
}

function parseForm(text: string): unknown {
  // Thousands of empty fields cost more than a millisecond.
  if (text.split('&', MOST_FORM_FIELDS + 1).length > MOST_FORM_FIELDS)
    return invalid('body', `Must hold at most ${MOST_FORM_FIELDS} fields`);
  return Object.fromEntries(new URLSearchParams(text));
}

const MOST_FORM_FIELDS = 64;

/** One try to answer a request: with fewer credentials than the one before, where those opened nothing. */
interface Attempt {
  readonly exchange: Exchange;
  readonly params: readonly string[];
  readonly body: unknown;
  readonly session: Session | undefined;
  /** Left out: where a session outranks it. */
  readonly ignoresInstallId?: boolean;
}

interface PlainCall {
  readonly params: unknown;
  readonly query: Record<string, unknown> | undefined;
  readonly body: Record<string, unknown> | undefined;
  readonly meta: RequestMeta;
  /** Known once the rest is valid. */
  caller: Caller | undefined;
}

/** The error body of the contract, with Retry-After where it says when to come back. */
export function sendRefusal(exchange: Exchange, refusal: Refusal, headers: Headers): void {
  const { status } = errors[refusal.code];
  const { retryAfterMs } = refusal.details;
  const error = { code: refusal.code, message: refusal.message, ...refusal.details };
  const retryAfter: Headers = retryAfterMs === undefined ? [] : [['retry-after', String(Math.ceil(retryAfterMs / 1000))]];
  const body = JSON.stringify({ ok: false, error, requestId: exchange.requestId });
  exchange.send(status, body, responseLines(status, 'application/json', [...retryAfter, ...headers]));
}

/** The header lines of an answer. Balances and sessions belong in no cache; an answer that may be cached says so itself. */
export function responseLines(status: number, mediaType: string, headers: Headers): string {
  const isBodiless = status === 204 || status === 304;
  const contentType: Headers = isBodiless
    ? []
    : [
        ['content-type', mediaType],
        ['x-content-type-options', 'nosniff'],
      ];
  const cacheRule: Headers = headers.some(([name]) => name === 'cache-control') ? [] : [['cache-control', 'no-store']];
  return headerLines([...contentType, ...cacheRule, ...headers]);
}

/** What went wrong, as a refusal; what nobody foresaw is logged and told to nobody. */
export function refusalOf(error: unknown, exchange: Exchange, route: string, log: Logger): Refusal {
  if (error instanceof Refusal) return error;
  const outcome = storeFailure(error);
  if (outcome !== undefined) return storeUnavailable(exchange.mayHaveWritten && outcome === 'unknown');
  log.error({ err: error, requestId: exchange.requestId, route }, 'request failed');
  return refuse('internal');
}

/** As many requests are under way as there may be. */
export function overloaded(exchange: Exchange): Refusal {
  exchange.closing = true;
  return refuse('overloaded', { retryAfterMs: 1000 });
}

export function storeUnavailable(mayHaveWritten: boolean): Refusal {
  return refuse('store_unavailable', { retryAfterMs: 1000, ...(mayHaveWritten ? { outcome: 'unknown' } : {}) });
}

function encode(body: object | Encoded): string | Buffer {
  return body instanceof Encoded ? body.wire : okBody(body);
}

function withCookie(answer: unknown, cookie: string): unknown {
  if (answer instanceof Refusal) return answer;
  if (!(answer instanceof Reply)) return new Reply(answer as object, { cookies: [cookie] });
  // A handler that sets or clears the session itself has the last word.
  if (answer.cookies.some((given) => given.startsWith(`${SESSION_COOKIE}=`))) return answer;
  return new Reply(answer.body, { ...answer, cookies: [...answer.cookies, cookie] });
}

const JSON_MEDIA_TYPE = /^application\/json\s*(;|$)/i;
const FORM_MEDIA_TYPE = /^application\/x-www-form-urlencoded\s*(;|$)/i;

/**
 * A line with the size of a chunk. It stands in a body that uWS has cut wrongly: it reads the extension in `2;a` as a part of
 * the size, 698, and takes what follows for data.
 */
const CHUNK_FRAMING = /\n[\da-f]+[ \t]*(?:;[^\r\n]*)?\r?\n/i;
