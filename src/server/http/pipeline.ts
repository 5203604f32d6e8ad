import type { Logger } from 'pino';
import { accountIdOf } from '../../accounts/ids.ts';
import { SessionEnded } from '../../accounts/caller-scripts.ts';
import { MOST_FOLLOWED } from '../../accounts/standing-look.ts';
import { invalid, rateLimited, refuse, Refusal } from '../../errors.ts';
import type { ClientAddresses } from '../address.ts';
import type { Admission, Reservable } from '../admission.ts';
import { callerFrom, type Caller } from '../identity/caller.ts';
import type { CookieScope } from '../identity/cookies.ts';
import { refuseBadKey } from '../identity/key-check.ts';
import type { KeyRing } from '../identity/key-ring.ts';
import type { Origins } from '../identity/origin.ts';
import type { ServerKey } from '../identity/server-keys.ts';
import { sessionCookie, type Session, type Sessions } from '../identity/sessions.ts';
import { BODY_DEADLINE_MS, BODY_LIMIT_BYTES, parseBody, refuseBodyOf } from './body.ts';
import { Encoded, okBody, Reply, Unchecked, type Call, type Endpoint, type RequestMeta } from './endpoint.ts';
import type { Exchange } from './exchange.ts';
import { accountsNamed, refuseGame, refuseKey } from './key-call.ts';
import type { Overload } from './overload.ts';
import { invalidBearer, redisUnavailable, refusalOf, sendRefusal } from './refusals.ts';
import { check, ExchangeMeta, TargetValidation, withInstallId, withoutInstallId } from './request-data.ts';
import { responseLines, type Headers } from './response-headers.ts';

/** A request that waits longer than this for Redis is answered 503 `store_unavailable`. */
export const REDIS_DEADLINE_MS = 2000;

export interface PipelineParts<Services> {
  readonly services: Services;
  readonly sessions: Sessions;
  readonly serverKeys: Pick<KeyRing, 'problemOf'>;
  readonly origins: Origins;
  readonly addresses: ClientAddresses;
  readonly admission: Admission;
  readonly overload: Overload;
  /**
   * Checks the caller's session or installId in Redis.
   * @throws SessionEnded, or Refusal `sign_in_required`, `account_deleted`, `account_banned`
   */
  readonly checkCaller: (caller: Caller) => Promise<unknown>;
  /** Notes in the list of the account's sessions that the caller's session was seen, and how long it lives. */
  readonly noteSession: (caller: Caller, userAgent: string) => Promise<void>;
  /**
   * The account that this one moved into, or itself. A move under way is finished or taken back first.
   * @throws Refusal `store_unavailable` if it does not end
   */
  readonly followMove: (accountId: string) => Promise<string>;
  /** Marks cookies Secure even on a request that arrived over plain http. */
  readonly secureCookies: boolean;
  /** COOKIE_SAME_SITE */
  readonly sameSite: CookieScope['sameSite'];
  readonly log: Logger;
}

/**
 * The steps of one request: body → admit → find the session → validate → identify the caller → reserve → handle → reply.
 * A handler takes plain data and returns its answer. Only the pipeline catches errors, repeats a call, and replies.
 */
export class Pipeline<Services> {
  readonly #parts: PipelineParts<Services>;
  readonly #endpoint: Endpoint<Services>;
  readonly #mediaType: string;
  readonly #target: TargetValidation;
  readonly #takesInstallId: boolean;
  /** The reservations that each call makes for its client's address before the handler runs. */
  readonly #reserves: readonly Reservable[];
  /** The CORS headers of most replies: those to a request without an allowed origin. */
  readonly #usualCors: Headers;
  /** The header lines of most replies: status 200, no cookie. Computing them takes 0.2 µs (bench:micro) of some 6 a request. */
  readonly #usualLines: string;

  constructor(endpoint: Endpoint<Services>, parts: PipelineParts<Services>) {
    this.#endpoint = endpoint;
    this.#parts = parts;
    this.#mediaType = endpoint.mediaType ?? 'application/json';
    this.#target = new TargetValidation(endpoint);
    this.#takesInstallId = 'installId' in (endpoint.body?.shape ?? {});
    this.#reserves = [
      ...(endpoint.misses === undefined ? [] : ['misses' as const]),
      ...(endpoint.creates === true ? ['creations' as const] : []),
      ...(endpoint.writesEntry === undefined || parts.admission.entries === undefined ? [] : ['entries' as const]),
    ];
    this.#usualCors = parts.origins.corsHeaders('');
    this.#usualLines = responseLines(200, this.#mediaType, this.#usualCors);
  }

  /** @param params path parameters in the order of the path, as sent */
  serve(exchange: Exchange, params: readonly string[]): void {
    if (this.#endpoint.method === 'GET') return this.#admit(exchange, params, undefined);
    const { headers } = exchange;
    // uWS hides all headers that follow a header without a name. If it hides Content-Length, it runs the body as a second request.
    if (headers.contentLength === '') exchange.closeAfterAnswer();
    // A browser attaches cookies by itself, and a bearer only if a page of an allowed origin does (CORS).
    if (headers.cookie !== '' && this.#parts.origins.isForeign(headers.origin, headers.host) && headers.bearer === undefined)
      return this.#reply(exchange, refuse('cross_site'));
    const bodyRefusal = refuseBodyOf(headers, this.#endpoint);
    if (bodyRefusal !== undefined) return this.#reply(exchange, bodyRefusal);
    // Under overload most requests are refused here, before their bodies are read. uWS drops the body of an answered request.
    if (this.#endpoint.probe !== true && this.#parts.admission.isFull) return this.#parts.overload.refuse(exchange);
    exchange.setDeadline(BODY_DEADLINE_MS);
    exchange.readBody(BODY_LIMIT_BYTES, (bytes) => {
      if (bytes === undefined) return this.#reply(exchange, refuse('payload_too_large'));
      const body = parseBody(bytes, headers, this.#endpoint);
      if (body instanceof Refusal) return this.#reply(exchange, body);
      this.#admit(exchange, params, body);
    });
  }

  /** Counts the request among those in flight. A probe takes no place, so that it is answered under any load. */
  #admit(exchange: Exchange, params: readonly string[], body: unknown): void {
    exchange.setDeadline(this.#endpoint.deadlineMs ?? REDIS_DEADLINE_MS);
    if (this.#endpoint.probe !== true && !exchange.takePlace()) return this.#parts.overload.refuse(exchange);
    this.#findSession(exchange, params, body);
  }

  /** Runs synchronously unless the session's signature has to be verified. */
  #findSession(exchange: Exchange, params: readonly string[], body: unknown): void {
    const { caller } = this.#endpoint;
    const { key } = exchange;
    if (key !== undefined) return this.#attemptWithKey(key, { exchange, params, body, session: undefined });
    if (caller === 'none') return this.#attempt({ exchange, params, body, session: undefined });
    const { bearer } = exchange.headers;
    if (bearer !== undefined) return this.#findBearer(bearer, { exchange, params, body, session: undefined });
    if (caller === 'install') return this.#attempt({ exchange, params, body, session: undefined });
    // A malformed cookie counts as no session.
    const session = this.#parts.sessions.ofCookies(exchange.headers.cookie);
    if (!(session instanceof Promise)) return this.#attempt({ exchange, params, body, session });
    session.then(
      (found) => this.#attemptLater({ exchange, params, body, session: found }),
      (error: unknown) => this.#fail(exchange, error),
    );
  }

  /** Runs synchronously unless the bearer's signature has to be verified. */
  #findBearer(token: string, attempt: Attempt): void {
    const found = this.#parts.sessions.find(token);
    if (!(found instanceof Promise)) return this.#attemptWithBearer(token, found, attempt);
    found.then(
      (session) => this.#attemptWithBearer(token, session, attempt),
      (error: unknown) => this.#fail(attempt.exchange, error),
    );
  }

  #attemptWithBearer(token: string, session: Session | undefined, attempt: Attempt): void {
    const { exchange } = attempt;
    const { caller } = this.#endpoint;
    if (session === undefined) {
      const isIgnored = caller === 'any' || (caller === 'lenient' && this.#parts.sessions.isKnownToHaveEnded(token));
      return isIgnored ? this.#attemptLater(attempt) : this.#settle(exchange, invalidBearer());
    }
    if (caller !== 'install') return this.#attemptLater({ ...attempt, session });
    // The installId names the caller here, so no script checks the session. A bearer whose session has ended must still be refused.
    this.#parts.checkCaller(callerFrom(exchange, session.accountId, session, undefined)).then(
      () => this.#attemptLater(attempt),
      (error: unknown) => {
        if (error instanceof SessionEnded) this.#parts.sessions.markEnded(session);
        this.#fail(exchange, error);
      },
    );
  }

  /** Handles the request of a server for the account that it names. A key stands for no session, and nothing counts for its address. */
  #attemptWithKey(key: ServerKey, attempt: Attempt): void {
    const { exchange, body } = attempt;
    const endpoint = this.#endpoint;
    if (endpoint.caller === 'none' && endpoint.keyScope === undefined) return this.#attempt(attempt);
    try {
      const refusal = refuseKey(key, endpoint);
      if (refusal !== undefined) return this.#settle(exchange, refusal);
      const call: PlainCall = { ...this.#validate(attempt, true), key };
      const refusalOfGame = refuseGame(key, call);
      if (refusalOfGame !== undefined) return this.#settle(exchange, refusalOfGame);
      const named = endpoint.caller === 'none' ? [] : accountsNamed(exchange, body, endpoint);
      const isNeeded = endpoint.keyNeedsAccount !== false && (endpoint.caller === 'required' || endpoint.caller === 'session');
      if (named.length === 0 && isNeeded)
        return this.#settle(exchange, invalid('accountId', 'Must be sent with a server key, or installId in its place'));
      if (named.length < 2) return this.#handleWithKey(attempt, call, named[0], 0);
      Promise.all(named.map((id) => this.#parts.followMove(id))).then(
        ([one, other]) => {
          if (one === other) this.#handleWithKey(attempt, call, one, 0);
          else this.#settle(exchange, invalid('accountId', 'Must be the account of the installId, where both are sent'));
        },
        (error: unknown) => this.#fail(exchange, error),
      );
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  /** @param followed how often the named account was found to have moved */
  #handleWithKey(attempt: Attempt, call: PlainCall, accountId: string | undefined, followed: number): void {
    const { exchange } = attempt;
    // The 503 at the deadline says that nothing was written. So nothing may be written after it.
    if (exchange.isAnswered) return this.#settle(exchange, redisUnavailable(false));
    // The wait for a body or for the end of a move may take 10 s. The key may have been revoked meanwhile.
    const ended = this.#parts.serverKeys.problemOf(call.key!);
    if (ended !== undefined) return this.#settle(exchange, refuseBadKey(ended));
    call.caller = accountId === undefined ? undefined : callerFrom(call.meta, accountId, undefined, undefined);
    exchange.identified(accountId);
    this.#handle(attempt, call, true, (error) => {
      const hasMoved = error instanceof Refusal && error.code === 'sign_in_required';
      if (accountId === undefined || !hasMoved || followed === MOST_FOLLOWED) return this.#fail(exchange, error);
      this.#parts.followMove(accountId).then(
        (target) => this.#handleWithKey(attempt, call, target, followed + 1),
        (problem: unknown) => this.#fail(exchange, problem),
      );
    });
  }

  /**
   * As `#attempt`, after a wait. The 503 at the deadline says that nothing was written, so nothing may be written after it. The
   * request of a client that has gone is still handled, such as the sign-out of a page that closes.
   */
  #attemptLater(attempt: Attempt): void {
    if (attempt.exchange.refusal !== undefined) this.#settle(attempt.exchange, redisUnavailable(false));
    else this.#attempt(attempt);
  }

  /** Handles the request as the caller that the attempt's credentials name. */
  #attempt(attempt: Attempt): void {
    const { exchange, session, ignoresInstallId = session !== undefined && !this.#isLenient } = attempt;
    try {
      const call = this.#validate(attempt, ignoresInstallId);
      const caller = this.#identify(call, session);
      if (caller instanceof Refusal) return this.#settle(exchange, caller);
      call.caller = caller;
      call.session = session;
      exchange.identified(caller?.accountId);
      if (this.#reserves.length === 0) this.#handle(attempt, call, ignoresInstallId);
      else this.#reserve(attempt, call, ignoresInstallId);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  /** Handles the call if the client's address has left what the call reserves. */
  #reserve(attempt: Attempt, call: PlainCall, ignoresInstallId: boolean): void {
    const { exchange } = attempt;
    if (exchange.key !== undefined) return this.#handle(attempt, call, ignoresInstallId);
    const goOn = (waitMs: number): void => {
      if (waitMs > 0) this.#settle(exchange, rateLimited(waitMs));
      else this.#handle(attempt, call, ignoresInstallId);
    };
    const waitMs = exchange.reserve(this.#reserves);
    if (!(waitMs instanceof Promise)) return goOn(waitMs);
    waitMs.then(
      // The 503 at the deadline says that nothing was written. So nothing may be written after it.
      (found) => (exchange.isAnswered ? this.#settle(exchange, redisUnavailable(false)) : goOn(found)),
      (error: unknown) => this.#fail(exchange, error),
    );
  }

  /** @param failedWithKey takes the error of a call with a server key */
  #handle(attempt: Attempt, call: PlainCall, ignoredInstallId: boolean, failedWithKey?: (error: unknown) => void): void {
    const { exchange } = attempt;
    const waitSeconds = this.#endpoint.waitSeconds?.(call.query as never) ?? 0;
    if (waitSeconds > 0) exchange.park(waitSeconds * 1000 + REDIS_DEADLINE_MS, waitSeconds * 1000);
    if (this.#endpoint.method === 'POST') exchange.mayWrite();
    let answer: unknown;
    try {
      answer = this.#endpoint.handle(call as Call<never, never, never, never>, this.#parts.services);
    } catch (error) {
      return this.#fail(exchange, error);
    }
    const failed = (error: unknown): void => {
      if (failedWithKey !== undefined) return failedWithKey(error);
      const next = call.caller === undefined ? undefined : this.#nextAttempt(attempt, call.caller, error, ignoredInstallId);
      if (next === undefined) this.#fail(exchange, error);
      else this.#attempt(next);
    };
    const settled = (found: unknown): void => {
      if (!(found instanceof Unchecked)) return this.#settleRenewed(found, attempt, call);
      this.#parts.checkCaller(call.caller!).then(() => settled(found.answer), failed);
    };
    if (answer instanceof Promise) answer.then(settled, failed);
    else if (answer instanceof Unchecked) settled(answer);
    // No script has checked the session, so its cookie is not renewed.
    else this.#settle(exchange, answer);
  }

  /** Replies, with the renewed session cookie if the session is past half its life. */
  #settleRenewed(answer: unknown, { exchange, session }: Attempt, { caller, meta }: PlainCall): void {
    const renewal = caller === undefined ? undefined : session?.renewal;
    // `lenient` and `any` endpoints start or end a session themselves: the old one is not renewed beside it.
    if (renewal === undefined || meta.hasBearer || this.#isLenient) return this.#settle(exchange, answer);
    // The request may have ended its own session.
    if (this.#parts.sessions.isKnownToHaveEnded(session!.token)) return this.#settle(exchange, answer);
    const renewed = (): void => this.#settle(exchange, withCookies(answer, sessionCookie(renewal.token, meta.cookieScope)));
    if (session!.kind === 'login') return renewed();
    // A listed session must not outlive its entry: without a longer entry the client keeps the old token, and asks again.
    this.#parts
      .noteSession(callerFrom(meta, session!.accountId, session, undefined), meta.userAgent)
      .then(renewed, () => this.#settle(exchange, answer));
  }

  /**
   * The attempt that follows one whose credential a script refused. The ended session of a cookie counts as not sent. On a
   * lenient endpoint that of a bearer and a credential of a moved or deleted account count as not sent, too.
   */
  #nextAttempt(attempt: Attempt, caller: Caller, error: unknown, ignoredInstallId: boolean): Attempt | undefined {
    const { session } = attempt;
    const isLenient = this.#isLenient;
    if (isLenient && error instanceof Refusal && this.#isIgnored(error))
      return { ...attempt, session: caller.session === undefined ? session : undefined, ignoresInstallId: true };
    if (session === undefined || !(error instanceof SessionEnded)) return undefined;
    this.#parts.sessions.markEnded(session);
    if (attempt.exchange.headers.bearer !== undefined && !isLenient) return undefined;
    return { ...attempt, session: undefined, ignoresInstallId: ignoredInstallId && isLenient };
  }

  /** Whether a lenient endpoint goes on without the credential that was refused. */
  #isIgnored({ code }: Refusal): boolean {
    return code === 'sign_in_required' || code === 'account_deleted' || (code === 'account_banned' && this.#endpoint.caller === 'any');
  }

  get #isLenient(): boolean {
    return this.#endpoint.caller === 'lenient' || this.#endpoint.caller === 'any';
  }

  /** @param ignoringInstallId a session names the caller: the installId is dropped unchecked, even if it is malformed */
  #validate({ exchange, params, body }: Attempt, ignoringInstallId: boolean): PlainCall {
    return {
      params: this.#target.params(params),
      query: this.#target.query(exchange, ignoringInstallId),
      body: check(this.#endpoint.body, ignoringInstallId ? withoutInstallId(body) : this.#named(body, exchange)),
      meta: new ExchangeMeta(exchange, this.#parts),
      key: undefined,
      session: undefined,
      caller: undefined,
    };
  }

  /** The body with the installId of the header, where the endpoint takes one in its body. */
  #named(body: unknown, { headers: { installId } }: Exchange): unknown {
    return installId !== '' && this.#takesInstallId ? withInstallId(body, installId) : body;
  }

  /** The rules are those of `CallerRule`. `#validate` has dropped the installId where a session comes first. */
  #identify(call: PlainCall, session: Session | undefined): Caller | undefined | Refusal {
    const { caller: rule, creates } = this.#endpoint;
    if (rule === 'none') return undefined;
    // An endpoint that creates with every call has counted the creation already.
    const admission = creates === true ? undefined : this.#parts.admission;
    const installId = call.body?.['installId'] ?? call.query?.['installId'];
    if (typeof installId === 'string') return callerFrom(call.meta, accountIdOf(installId), undefined, admission);
    if (session !== undefined) return callerFrom(call.meta, session.accountId, session, admission);
    if (rule === 'session') return refuse('session_required');
    if (rule === 'install') return invalid('installId', 'Must be sent, here or in the header x-install-id');
    return rule === 'required' ? refuse('identity_required') : undefined;
  }

  /** Replies. A reserved creation stays used up even if the call failed: failing must not be a way around the limit. */
  #settle(exchange: Exchange, answer: unknown): void {
    exchange.reserved?.settleMiss(answer, this.#endpoint.misses);
    if (this.#endpoint.writesEntry !== undefined) this.#settleEntry(exchange, answer);
    this.#reply(exchange, answer);
  }

  /** Gives the reserved ledger entry back, if none was written. */
  #settleEntry(exchange: Exchange, answer: unknown): void {
    const reply = answer instanceof Reply ? answer.body : answer;
    const mayBeWritten =
      answer instanceof Refusal
        ? answer.code === 'internal' || answer.details['outcome'] === 'unknown'
        : this.#endpoint.writesEntry!(reply as never);
    if (!mayBeWritten) exchange.reserved?.giveBack('entries');
  }

  #fail(exchange: Exchange, error: unknown): void {
    this.#settle(exchange, refusalOf(error, exchange, this.#endpoint.path, this.#parts.log));
  }

  #reply(exchange: Exchange, answer: unknown): void {
    const cors = this.#endpoint.anyOrigin === true ? ANY_ORIGIN : this.#parts.origins.corsHeaders(exchange.headers.origin);
    if (answer instanceof Refusal) {
      // The connection closes, because the rest of the body stays unread.
      if (answer.code === 'payload_too_large') exchange.closeAfterAnswer();
      return sendRefusal(exchange, answer, cors);
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
   * Charges the client for a large answer, and refuses the request if the client has to wait for it. A POST has done its work, so its
   * answer is never refused; none is much larger than a room.
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
 * A request pays for so many bytes of its answer. The rest of a large answer counts as further requests: at 50 a second an address
 * draws 800 KiB a second, and not 25 MB.
 */
const BYTES_PER_REQUEST = 16 * 1024;

/** A text of so many UTF-16 units has no more than BYTES_PER_REQUEST bytes. */
const SMALL_LENGTH = BYTES_PER_REQUEST / 3;

/** For pages of any origin, those with `Cross-Origin-Embedder-Policy` too. */
const ANY_ORIGIN: Headers = [
  ['access-control-allow-origin', '*'],
  ['cross-origin-resource-policy', 'cross-origin'],
];

/** One try to answer a request. A later attempt has fewer credentials than the one before. */
interface Attempt {
  readonly exchange: Exchange;
  readonly params: readonly string[];
  readonly body: unknown;
  readonly session: Session | undefined;
  /** Undefined: the installId is ignored if there is a session, except on a lenient endpoint. */
  readonly ignoresInstallId?: boolean;
}

interface PlainCall {
  readonly params: unknown;
  readonly query: Record<string, unknown> | undefined;
  readonly body: Record<string, unknown> | undefined;
  readonly key: ServerKey | undefined;
  readonly meta: RequestMeta;
  /** Both are set after the data was validated. */
  session: Session | undefined;
  caller: Caller | undefined;
}

function encode(body: object | Encoded): string | Buffer {
  return body instanceof Encoded ? body.wire : okBody(body);
}

function withCookies(answer: unknown, cookies: readonly string[]): unknown {
  if (answer instanceof Refusal) return answer;
  if (!(answer instanceof Reply)) return new Reply(answer as object, { cookies });
  return new Reply(answer.body, { ...answer, cookies: [...answer.cookies, ...cookies] });
}
