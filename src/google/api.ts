import { setTimeout as pause } from 'node:timers/promises';
import { refuse } from '../errors.ts';
import { AccessTokens, Misconfigured } from './access-tokens.ts';
import { boundedFetch, Fault, parseJson, type TextAnswer } from './bounded-fetch.ts';
import { Circuit } from './circuit.ts';
import { appStoreAway } from './outage.ts';
import type { StoreParts } from './app-store.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly body?: object;
  /** How long all tries together may take, in milliseconds: CALL_MS unless said. */
  readonly budgetMs?: number;
}

export interface ApiAnswer {
  readonly status: number;
  /** Parsed JSON; `{}` where a POST was answered with nothing. */
  readonly body: unknown;
}

/** Google's slow answers take a second or two; what takes longer is as good as lost, and better asked again. */
const TRY_MS = 4000;

/** A call with all its tries: an endpoint that makes one has to have a longer `deadlineMs`. */
export const CALL_MS = 8000;

const TRIES = 3;

/** Before the second try; doubled before each further one, and spread from a half to the whole of it. */
const FIRST_PAUSE_MS = 300;

/** A try is worth beginning with at least this left. */
const SHORTEST_TRY_MS = 500;

/** When a caller might come again after a failure. */
const COME_AGAIN_MS = 5000;

/** Nobody sets a service account right in less; and as often it is told in the log. */
const MISCONFIGURED_MS = 60_000;

/**
 * What settles a question: an answer, or that there is no such thing. 204 is the answer of methods without one
 * (`purchases.subscriptions.acknowledge`).
 */
const DEFINITE = new Set([200, 204, 400, 404, 410]);

/** What may be otherwise in a moment. 409: another change of the same thing was under way. */
const PASSING = new Set([408, 409, 429]);

/** Google's APIs, asked as the service account. */
export class GoogleApi {
  readonly #parts: StoreParts;
  readonly #tokens: AccessTokens;
  /** One for each host: the publisher API may be away while that for integrity is not. */
  readonly #circuits = new Map<string, Circuit>();
  #complainedAt = -Infinity;

  constructor(parts: StoreParts) {
    this.#parts = parts;
    this.#tokens = new AccessTokens(parts);
  }

  /**
   * Resolves with a definite answer: 200 (204), or that there is no such thing (400, 404, 410).
   * @throws Refusal `store_unavailable` for anything that may be otherwise later, `store_unconfigured` without a service account
   */
  async call(request: ApiRequest): Promise<ApiAnswer> {
    const { settings, now, log } = this.#parts;
    if (settings().serviceAccount === undefined) throw refuse('store_unconfigured');
    const { host } = new URL(request.url);
    const circuit = this.#circuitOf(host);
    const waitMs = circuit.admit(now());
    if (waitMs > 0) throw appStoreAway(waitMs);
    try {
      const answer = await this.#persist(request);
      if (circuit.succeeded()) log.info({ host }, 'the app store answers again');
      return answer;
    } catch (error) {
      if (error instanceof Misconfigured) {
        circuit.succeeded();
        this.#complain(host, error);
        throw appStoreAway(MISCONFIGURED_MS);
      }
      if (circuit.failed(now())) log.warn({ host }, 'the app store does not answer: it is left alone for a while');
      if (!(error instanceof Fault)) throw error;
      log.warn({ host, fault: error.message }, 'the app store was asked in vain');
      throw appStoreAway(error.retryAfterMs ?? COME_AGAIN_MS);
    }
  }

  #circuitOf(host: string): Circuit {
    let circuit = this.#circuits.get(host);
    if (circuit === undefined) this.#circuits.set(host, (circuit = new Circuit()));
    return circuit;
  }

  #complain(host: string, error: Misconfigured): void {
    const { log, now } = this.#parts;
    if (Math.abs(now() - this.#complainedAt) < MISCONFIGURED_MS) return;
    this.#complainedAt = now();
    log.error({ host, reason: error.message }, 'the app store refuses this service: check the service account and its rights');
  }

  /** Tries again what failed in passing. @throws Fault the last one, Misconfigured */
  async #persist(request: ApiRequest): Promise<ApiAnswer> {
    const deadline = performance.now() + (request.budgetMs ?? CALL_MS);
    for (let tries = 1; ; tries++) {
      try {
        return await this.#ask(request, deadline);
      } catch (error) {
        if (!(error instanceof Fault) || tries === TRIES) throw error;
        const pauseMs = error.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** (tries - 1) * (0.5 + Math.random() / 2);
        if (performance.now() + pauseMs + SHORTEST_TRY_MS > deadline) throw error;
        await pause(pauseMs);
      }
    }
  }

  /** One try; a second one with a new access token where the first was refused for its own. */
  async #ask(request: ApiRequest, deadline: number): Promise<ApiAnswer> {
    const account = this.#parts.settings().serviceAccount!;
    const endsAt = Math.min(deadline, performance.now() + TRY_MS);
    // Others wait for the same token, each with a time of his own.
    const token = await withinTime(this.#tokens.current(account), endsAt);
    let answer = await send(request, token, endsAt);
    if (answer.status === 401) {
      answer = await send(request, await withinTime(this.#tokens.inPlaceOf(token, account), endsAt), endsAt);
    }
    return definite(request, answer);
  }
}

async function withinTime<Result>(promise: Promise<Result>, endsAt: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Fault('timeout')), endsAt - performance.now());
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function send({ method, url, body }: ApiRequest, token: string, endsAt: number): Promise<TextAnswer> {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json', 'content-type': 'application/json' };
  const timeoutMs = Math.max(Math.ceil(endsAt - performance.now()), 1);
  return boundedFetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }, timeoutMs);
}

/** @throws Fault, Misconfigured */
function definite({ method }: ApiRequest, { status, text, retryAfterMs }: TextAnswer): ApiAnswer {
  if (DEFINITE.has(status)) {
    if (status < 300 && text === '' && method === 'POST') return { status, body: {} };
    // Google says no in JSON too; a page of HTML is the word of something on the way to it.
    return { status, body: parseJson(text) };
  }
  if (status >= 500 || PASSING.has(status)) throw new Fault(`status ${status}`, retryAfterMs);
  throw new Misconfigured(`status ${status}`);
}
