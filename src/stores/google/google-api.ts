import { refuse } from '../../errors.ts';
import { within } from '../../redis/within.ts';
import { AccessTokens } from './access-tokens.ts';
import { boundedFetch, Fault, parseJson, type TextAnswer } from '../bounded-fetch.ts';
import { errorOf, StoreCalls } from '../store-calls.ts';
import type { GoogleOptions } from './settings.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly body?: object;
  /** The header traceparent of the player's request that caused the call. */
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
 * The statuses that end a call, with a result or with "no such resource". Google answers 400 for a token in a form that it never issues,
 * and 410 for a purchase that ended long ago. Methods without a result answer 204 (`purchases.subscriptions.acknowledge`).
 */
const DEFINITE = new Set([200, 204, 400, 404, 410]);

/** Calls Google's APIs with access tokens of the service account. */
export class GoogleApi {
  readonly #options: GoogleOptions;
  readonly #tokens: AccessTokens;
  readonly #calls: StoreCalls;

  constructor(options: GoogleOptions) {
    this.#options = options;
    this.#tokens = new AccessTokens(options);
    this.#calls = new StoreCalls(options);
  }

  /**
   * Sends a request, with retries. Resolves with a final status: 200 or 204, or 400, 404 or 410 ("no such resource").
   * @throws Refusal `app_store_unavailable` for every temporary failure, `store_unconfigured` without a service account
   */
  async call(request: ApiRequest): Promise<ApiAnswer> {
    if (this.#options.settings().serviceAccount === undefined) throw refuse('store_unconfigured');
    return this.#calls.call(new URL(request.url).host, (endsAt) => this.#tryOnce(request, endsAt), request.budgetMs);
  }

  /** One try. A 401 refuses the access token: the same try then sends the request again with a new token. */
  async #tryOnce(request: ApiRequest, endsAt: number): Promise<ApiAnswer> {
    const account = this.#options.settings().serviceAccount!;
    // Concurrent calls share one request for a token. Each call keeps to its own time limit while it waits for the token.
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
    // Google's errors are JSON too. An HTML page comes from a proxy on the way and does not concern the purchase, so `parseJson` throws a
    // Fault.
    return { status, body: parseJson(text) };
  }
  throw errorOf(status, retryAfterMs);
}
