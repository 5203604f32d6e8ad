import { setTimeout as pause } from 'node:timers/promises';
import { refuse } from '../../errors.ts';
import { within } from '../../redis/within.ts';
import { AccessTokens, Misconfigured } from './access-tokens.ts';
import { boundedFetch, Fault, parseJson, type TextAnswer } from '../bounded-fetch.ts';
import { Circuit } from './circuit.ts';
import { appStoreUnavailable } from '../store-refusals.ts';
import type { GoogleOptions } from './settings.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly body?: object;
  /** The header traceparent of the player's request for which the call is made. */
  readonly traceparent?: string | undefined;
  /** The most milliseconds for all tries together. Default: CALL_MS. */
  readonly budgetMs?: number;
}

export interface ApiAnswer {
  readonly status: number;
  /** The parsed JSON; `{}` for a POST with an empty answer. */
  readonly body: unknown;
}

/**
 * The most milliseconds of one try. Google's slow answers take a second or two: an answer that takes longer is given up, and the call is
 * retried.
 */
const TRY_MS = 4000;

/** The most milliseconds of a call with all its tries. An endpoint that makes a call needs a longer `deadlineMs`. */
export const CALL_MS = 8000;

const TRIES = 3;

/** Milliseconds of the pause before the second try. The pause doubles before each further try, and jitter takes off up to half. */
const FIRST_PAUSE_MS = 300;

/** The least milliseconds that must be left for a try to start. */
const SHORTEST_TRY_MS = 500;

/** The `retryAfterMs` of a refusal after a failed call for which the app store named no time. */
const DEFAULT_RETRY_AFTER_MS = 5000;

/**
 * The `retryAfterMs` of a refusal while the service account is misconfigured, and the least milliseconds between two log lines about it. An
 * operator needs longer than a minute to correct the account.
 */
const MISCONFIGURED_MS = 60_000;

/**
 * The statuses that end a call, with a result or with "no such resource": Google answers 400 for a token of a form that it never issues, and
 * 410 for a purchase that ended long ago. Methods without a result answer 204 (`purchases.subscriptions.acknowledge`).
 */
const DEFINITE = new Set([200, 204, 400, 404, 410]);

/** The statuses after which a call is retried, besides 5xx. 409 means a concurrent change of the same resource. */
const RETRYABLE = new Set([408, 409, 429]);

/** Calls Google's APIs with access tokens of the service account. */
export class GoogleApi {
  readonly #options: GoogleOptions;
  readonly #tokens: AccessTokens;
  /** A circuit breaker for each host: the publisher API may fail while the integrity API works. */
  readonly #circuits = new Map<string, Circuit>();
  #misconfiguredLoggedAt = -Infinity;

  constructor(options: GoogleOptions) {
    this.#options = options;
    this.#tokens = new AccessTokens(options);
  }

  /**
   * Sends a request, with retries. Resolves with a final status: 200 or 204, or 400, 404 or 410 ("no such resource").
   * @throws Refusal `app_store_unavailable` for every temporary failure, `store_unconfigured` without a service account
   */
  async call(request: ApiRequest): Promise<ApiAnswer> {
    const { settings, monotonic, log } = this.#options;
    if (settings().serviceAccount === undefined) throw refuse('store_unconfigured');
    const { host } = new URL(request.url);
    const circuit = this.#circuitOf(host);
    const waitMs = circuit.admit(monotonic());
    if (waitMs > 0) throw appStoreUnavailable(waitMs);
    try {
      const answer = await this.#callWithRetries(request);
      if (circuit.succeeded()) log.info({ host }, 'the app store answers again');
      return answer;
    } catch (error) {
      if (error instanceof Misconfigured) {
        // A misconfigured service account is no outage, so the circuit stays closed.
        circuit.succeeded();
        this.#logMisconfigured(host, error);
        throw appStoreUnavailable(MISCONFIGURED_MS);
      }
      if (circuit.failed(monotonic())) log.warn({ host }, 'the app store does not answer: calls to it are suspended');
      if (!(error instanceof Fault)) throw error;
      log.warn({ host, fault: error.message }, 'a call to the app store failed');
      throw appStoreUnavailable(error.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS);
    }
  }

  #circuitOf(host: string): Circuit {
    let circuit = this.#circuits.get(host);
    if (circuit === undefined) this.#circuits.set(host, (circuit = new Circuit()));
    return circuit;
  }

  #logMisconfigured(host: string, error: Misconfigured): void {
    const { log, monotonic } = this.#options;
    if (monotonic() - this.#misconfiguredLoggedAt < MISCONFIGURED_MS) return;
    this.#misconfiguredLoggedAt = monotonic();
    log.error({ host, reason: error.message }, 'the app store refuses this service: check the service account and its rights');
  }

  /** @throws the Fault of the last try, or Misconfigured */
  async #callWithRetries(request: ApiRequest): Promise<ApiAnswer> {
    const deadline = performance.now() + (request.budgetMs ?? CALL_MS);
    for (let tries = 1; ; tries++) {
      try {
        return await this.#tryOnce(request, deadline);
      } catch (error) {
        if (!(error instanceof Fault) || tries === TRIES) throw error;
        const pauseMs = error.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** (tries - 1) * (0.5 + Math.random() / 2);
        if (performance.now() + pauseMs + SHORTEST_TRY_MS > deadline) throw error;
        await pause(pauseMs);
      }
    }
  }

  /** One try. A 401 refuses the access token: the same try then sends the request again with a new token. */
  async #tryOnce(request: ApiRequest, deadline: number): Promise<ApiAnswer> {
    const account = this.#options.settings().serviceAccount!;
    const endsAt = Math.min(deadline, performance.now() + TRY_MS);
    // Concurrent calls share one request for a token. Each call keeps its own time limit while it waits for the token.
    const token = await withinTime(this.#tokens.current(account), endsAt);
    let answer = await send(request, token, endsAt);
    if (answer.status === 401) {
      answer = await send(request, await withinTime(this.#tokens.replace(token, account), endsAt), endsAt);
    }
    return definite(request, answer);
  }
}

function withinTime<Result>(promise: Promise<Result>, endsAt: number): Promise<Result> {
  return within(endsAt - performance.now(), promise, () => {
    throw new Fault('timeout');
  });
}

function send({ method, url, body, traceparent }: ApiRequest, token: string, endsAt: number): Promise<TextAnswer> {
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'application/json',
    'content-type': 'application/json',
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  const timeoutMs = Math.max(Math.ceil(endsAt - performance.now()), 1);
  return boundedFetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }, timeoutMs);
}

/** The answer, if its status ends the call. @throws Fault if a retry may help, Misconfigured for any other status */
function definite({ method }: ApiRequest, { status, text, retryAfterMs }: TextAnswer): ApiAnswer {
  if (DEFINITE.has(status)) {
    if (status < 300 && text === '' && method === 'POST') return { status, body: {} };
    // Google's errors are JSON too. An HTML page comes from a proxy on the way and says nothing about the purchase, so `parseJson` throws a
    // Fault.
    return { status, body: parseJson(text) };
  }
  if (status >= 500 || RETRYABLE.has(status)) throw new Fault(`status ${status}`, retryAfterMs);
  throw new Misconfigured(`status ${status}`);
}
