import { rateLimited, refuse, Refusal } from '../../errors.ts';
import type { ClientAddresses } from '../address.ts';
import type { Admission, Wanted } from '../admission.ts';
import { callerFrom, type Caller } from '../identity/caller.ts';
import type { CostlyTurn, CostlyWork } from '../costly-work.ts';
import type { ConsoleSessions } from '../identity/console-sessions.ts';
import type { CookieScope } from '../identity/cookies.ts';
import type { ServerKey } from '../identity/server-keys.ts';
import { sessionCookie } from '../identity/sessions.ts';
import { Answers, withCookies, type AnswersOptions } from './answers.ts';
import { BODY_DEADLINE_MS, bodyBoundsOf, furtherRequests, parseBody, refuseBodyOf, refuseLength } from './body.ts';
import { ClientCredentials, type ClientCredentialsOptions } from './client-credential.ts';
import type { Credential, Identified, PlainCall } from './credential.ts';
import { Unchecked, type Call, type Endpoint } from './endpoint.ts';
import type { Exchange } from './exchange.ts';
import type { Overload } from './overload.ts';
import { redisUnavailable } from './error-answer.ts';
import { check, ExchangeMeta, TargetValidation, withInstallId, withoutInstallId } from './request-data.ts';
import { ignoresKeys, serverKeyCredential, type ServerKeyCredentialOptions } from './server-key-credential.ts';

/** The longest wait of a request for Redis, in milliseconds. Then the service answers 503 `store_unavailable`. */
export const REDIS_DEADLINE_MS = 2000;

/** The longest wait of a costly request for its turn, in milliseconds. Then the service answers 503 `store_unavailable`. */
const TURN_DEADLINE_MS = 20_000;

/** The `Retry-After`, in milliseconds, for a costly request that is refused because too many others wait. */
const BUSY_MS = 1000;

export interface PipelineOptions<Services> extends AnswersOptions, ClientCredentialsOptions, ServerKeyCredentialOptions {
  readonly consoleSessions: ConsoleSessions;
  readonly services: Services;
  readonly addresses: ClientAddresses;
  readonly admission: Admission;
  readonly overload: Overload;
  readonly costlyWork: CostlyWork;
  /** Milliseconds that a request may wait for Redis. Default: REDIS_DEADLINE_MS. */
  readonly redisDeadlineMs?: number | undefined;
  /** Notes in the account's list of sessions that the caller's session was used now, and until when it lives. */
  readonly noteSession: (caller: Caller, userAgent: string) => Promise<void>;
  /** Whether cookies are marked Secure even on a request that arrived over plain http. */
  readonly secureCookies: boolean;
  /** The setting COOKIE_SAME_SITE: whether browsers send the cookies from pages of other sites. */
  readonly sameSite: CookieScope['sameSite'];
}

/**
 * The steps of one request: body → admit → find the credential → validate → identify the caller → reserve → handle → reply.
 * A handler takes plain data and returns its answer. Only the pipeline catches errors, repeats a call, and replies.
 */
export class Pipeline<Services> {
  readonly #options: PipelineOptions<Services>;
  readonly #endpoint: Endpoint<Services>;
  readonly #answers: Answers;
  readonly #target: TargetValidation;
  readonly #clients: ClientCredentials;
  readonly #ignoresKeys: boolean;
  readonly #takesInstallId: boolean;
  readonly #redisDeadlineMs: number;
  /** The reservations that each call makes for its client's address before the handler runs. */
  readonly #reserves: readonly Wanted[];

  constructor(endpoint: Endpoint<Services>, options: PipelineOptions<Services>) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#answers = new Answers(endpoint, options);
    this.#target = new TargetValidation(endpoint);
    this.#clients = new ClientCredentials(endpoint, options);
    this.#ignoresKeys = ignoresKeys(endpoint);
    this.#redisDeadlineMs = options.redisDeadlineMs ?? REDIS_DEADLINE_MS;
    this.#takesInstallId = 'installId' in (endpoint.body?.shape ?? {});
    this.#reserves = [
      ...(endpoint.misses === undefined ? [] : [['misses', 1] as const]),
      ...(endpoint.creates === true ? [['creations', 1] as const] : []),
      ...(endpoint.writesEntry === undefined || options.admission.daily('entries') === undefined ? [] : [['entries', 1] as const]),
    ];
  }

  /** Handles a request. @param params the values of the path parameters in the order of the path, as sent */
  serve(exchange: Exchange, params: readonly string[]): void {
    if (this.#endpoint.method === 'GET') return this.#admit({ exchange, params, body: undefined });
    const { headers } = exchange;
    // uWS hides all headers that follow a header without a name. If uWS hides Content-Length, it would run the body as a second request, so
    // a POST without that header is the last request of its connection.
    if (headers.contentLength === '') exchange.closeAfterAnswer();
    // A browser attaches cookies by itself. It attaches a bearer only if a page of an allowed origin does so (CORS).
    if (headers.cookie !== '' && this.#options.origins.isForeign(headers.origin, headers.host) && headers.bearer === undefined)
      return this.#answers.reply(exchange, refuse('cross_site'));
    const bounds = bodyBoundsOf(this.#endpoint, exchange.key);
    const bodyRefusal = refuseBodyOf(headers, this.#endpoint, bounds);
    if (bodyRefusal !== undefined) return this.#answers.reply(exchange, bodyRefusal);
    // Under overload most requests are refused at this step, before their bodies are read. uWS drops the body of an answered request.
    if (this.#endpoint.probe !== true && this.#options.overload.refusesUnread(exchange)) return;
    exchange.setDeadline(BODY_DEADLINE_MS);
    exchange.readBody(bounds.bytes, (bytes) => {
      if (bytes === undefined) return this.#answers.reply(exchange, refuseLength(bounds));
      const further = exchange.key === undefined ? furtherRequests(bytes) : 0;
      const waitMs = further === 0 ? 0 : exchange.chargeMore(further);
      if (waitMs > 0) return this.#answers.reply(exchange, rateLimited(waitMs));
      const body = parseBody(bytes, headers, this.#endpoint, bounds);
      if (body instanceof Refusal) return this.#answers.reply(exchange, body);
      this.#admit({ exchange, params, body });
    });
  }

  /** Counts the request among those in flight. A probe is not counted, so that it is answered under any load. */
  #admit(request: Request): void {
    const { exchange } = request;
    exchange.setDeadline(this.#endpoint.deadlineMs ?? this.#redisDeadlineMs);
    if (this.#endpoint.probe !== true && this.#options.overload.refuses(exchange)) return;
    const credential = this.#credentialOf(request);
    if (!(credential instanceof Promise)) return this.#attempt(request, credential);
    credential.then(
      // The request may have been answered 503 at its deadline, which says that nothing was written. So it must not write later. A request
      // whose client has gone is still handled, such as the sign-out of a page that closes.
      (found) => this.#attempt(request, exchange.refusal === undefined ? found : redisUnavailable(false)),
      (error: unknown) => this.#answers.fail(exchange, error),
    );
  }

  #credentialOf({ exchange, body }: Request): Credential | Refusal | Promise<Credential | Refusal> {
    const { key } = exchange;
    if (key === undefined || this.#ignoresKeys) return this.#clients.of(exchange);
    const credentialOf = (found: ServerKey) => serverKeyCredential({ key: found, exchange, body, endpoint: this.#endpoint }, this.#options);
    if (key.console === undefined) return credentialOf(key);
    return this.#options.consoleSessions
      .confirmed(key, key.console)
      .then((found) => (found instanceof Refusal ? found : credentialOf(found)));
  }

  /**
   * One attempt to answer the request. Another attempt follows if a script refuses the credential and the request has another credential.
   */
  #attempt(request: Request, credential: Credential | Refusal): void {
    const { exchange } = request;
    if (credential instanceof Refusal) return this.#answers.settle(exchange, credential);
    try {
      const call = this.#validate(request, credential);
      const caller = credential.callerOf(call);
      if (!(caller instanceof Promise)) return this.#identified(request, credential, call, caller);
      caller.then(
        (found) => this.#identified(request, credential, call, found),
        (error: unknown) => this.#answers.fail(exchange, error),
      );
    } catch (error) {
      this.#answers.fail(exchange, error);
    }
  }

  #validate({ exchange, params, body }: Request, { ignoresInstallId, session, key }: Credential): PlainCall {
    return {
      params: this.#target.params(params),
      query: this.#target.query(exchange, ignoresInstallId),
      body: check(this.#endpoint.body, ignoresInstallId ? withoutInstallId(body) : this.#named(body, exchange)),
      meta: new ExchangeMeta(exchange, this.#options),
      key,
      session,
      caller: undefined,
    };
  }

  /** The body, with the installId of the header x-install-id if the endpoint takes an installId in its body. */
  #named(body: unknown, { headers: { installId } }: Exchange): unknown {
    return installId !== '' && this.#takesInstallId ? withInstallId(body, installId) : body;
  }

  #identified(request: Request, credential: Credential, call: PlainCall, caller: Identified): void {
    const { exchange } = request;
    if (caller instanceof Refusal) return this.#answers.settle(exchange, caller);
    call.caller = caller;
    exchange.identified(caller?.accountId);
    // A request with a server key reserves nothing for its address.
    const wanted = exchange.key === undefined ? this.#wantedFor(call) : [];
    if (wanted.length === 0) this.#handle(request, credential, call);
    else this.#reserve(request, credential, call, wanted);
  }

  #wantedFor({ body }: PlainCall): readonly Wanted[] {
    const { writesBytes } = this.#endpoint;
    if (writesBytes === undefined || this.#options.admission.daily('saveBytes') === undefined) return this.#reserves;
    return [...this.#reserves, ['saveBytes', writesBytes.most(body as never)]];
  }

  /**
   * Reserves the units or places that the call needs for the client's address, then handles the call. Refuses the call if the address has
   * reached a limit.
   */
  #reserve(request: Request, credential: Credential, call: PlainCall, wanted: readonly Wanted[]): void {
    const { exchange } = request;
    const goOn = (waitMs: number): void => {
      if (waitMs > 0) this.#answers.settle(exchange, rateLimited(waitMs));
      else this.#handle(request, credential, call);
    };
    const waitMs = exchange.reserve(wanted);
    if (!(waitMs instanceof Promise)) return goOn(waitMs);
    waitMs.then(
      // The request may have been answered 503 at its deadline, which says that nothing was written. So it must not write later.
      (found) => (exchange.isAnswered ? this.#answers.settle(exchange, redisUnavailable(false)) : goOn(found)),
      (error: unknown) => this.#answers.fail(exchange, error),
    );
  }

  #handle(request: Request, credential: Credential, call: PlainCall): void {
    if (this.#endpoint.costly === true) this.#takeTurn(request, credential, call);
    else this.#run(request, credential, call);
  }

  /** Handles the call of a costly endpoint once its turn has come. */
  #takeTurn(request: Request, credential: Credential, call: PlainCall): void {
    const { exchange } = request;
    const { key, group } = exchange;
    const { costlyWork } = this.#options;
    const turn = key === undefined ? costlyWork.enter(group, 'address') : costlyWork.enter(key.id, 'key');
    if (turn === undefined) return this.#answers.settle(exchange, rateLimited(BUSY_MS, MANY_WAIT));
    exchange.costlyTurn = turn;
    // While the request waits for its turn, it does not count as in flight: costly requests from many addresses would otherwise fill
    // MAX_IN_FLIGHT.
    exchange.park(TURN_DEADLINE_MS, Infinity);
    exchange.onGone(() => turn.gone());
    void turn.begun.then(() => {
      if (exchange.isAnswered) return turn.leave();
      exchange.setDeadline(this.#endpoint.deadlineMs ?? this.#redisDeadlineMs);
      this.#run(request, credential, call, turn);
    });
  }

  #run(request: Request, credential: Credential, call: PlainCall, turn?: CostlyTurn): void {
    const { exchange } = request;
    const waitSeconds = this.#endpoint.waitSeconds?.(call.query as never) ?? 0;
    if (waitSeconds > 0) exchange.park(waitSeconds * 1000 + this.#redisDeadlineMs, waitSeconds * 1000);
    if (this.#endpoint.method === 'POST') exchange.mayWrite();
    let answer: unknown;
    try {
      answer = this.#endpoint.handle(call as Call<never, never, never, never>, this.#options.services);
    } catch (error) {
      turn?.leave();
      return this.#answers.fail(exchange, error);
    }
    if (turn !== undefined) answer = Promise.resolve(answer).finally(() => turn.leave());
    const failed = (error: unknown): void => {
      const next = credential.after(error, call);
      if (next === undefined) return this.#answers.fail(exchange, error);
      if (!(next instanceof Promise)) return this.#attempt(request, next);
      next.then(
        (found) => this.#attempt(request, found),
        (problem: unknown) => this.#answers.fail(exchange, problem),
      );
    };
    const settled = (found: unknown): void => {
      if (!(found instanceof Unchecked)) return this.#settleRenewed(exchange, found, call);
      this.#options.checkCaller(call.caller!).then(() => settled(found.answer), failed);
    };
    if (answer instanceof Promise) answer.then(settled, failed);
    else if (answer instanceof Unchecked) settled(answer);
    // No script has checked the session, so its cookie is not renewed.
    else this.#answers.settle(exchange, answer);
  }

  /** Replies, with the renewed session cookie if the session is past half its life. */
  #settleRenewed(exchange: Exchange, answer: unknown, { caller, session, meta }: PlainCall): void {
    const renewal = caller === undefined ? undefined : session?.renewal;
    // `lenient` and `any` endpoints start or end sessions themselves, so the old session is not renewed. `public` endpoints do not renew
    // sessions either.
    if (renewal === undefined || meta.hasBearer || this.#clients.isLenient) return this.#answers.settle(exchange, answer);
    // The request may have been the sign-out of its own session.
    if (this.#options.sessions.isKnownToHaveEnded(session!.token)) return this.#answers.settle(exchange, answer);
    const renewed = (): void => this.#answers.settle(exchange, withCookies(answer, sessionCookie(renewal.token, meta.cookieScope)));
    if (session!.kind === 'login') return renewed();
    // A session must not outlive its entry in the account's list of sessions. If the entry's life cannot be prolonged, the client keeps the
    // old token, and a later request renews it.
    this.#options
      .noteSession(callerFrom(meta, session!.accountId, session, undefined), meta.userAgent)
      .then(renewed, () => this.#answers.settle(exchange, answer));
  }
}

const MANY_WAIT = 'Too many costly requests of this key or address wait. Send one after the other.';

/** The data that all attempts to answer one request share. */
interface Request {
  readonly exchange: Exchange;
  readonly params: readonly string[];
  readonly body: unknown;
}
