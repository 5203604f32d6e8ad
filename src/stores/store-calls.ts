import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from './bounded-fetch.ts';
import { Circuit } from './circuit.ts';
import { appStoreUnavailable } from './store-refusals.ts';
import type { StoreOptions } from './store.ts';

/**
 * The most milliseconds of one try. A store's slow answers take a second or two. After this time the service gives an answer up, and
 * retries the call.
 */
const TRY_MS = 4000;

/** The most milliseconds for a call with all its tries. An endpoint that makes a call needs a longer `deadlineMs`. */
export const CALL_MS = 8000;

/** The most milliseconds for an acknowledgement or the like: enough for one try and a retry. The buyer waits for the outcome. */
export const TELL_MS = 4000;

const TRIES = 3;

/**
 * The pause before the second try, in milliseconds. The pause doubles before each further try, and random jitter shortens it by up to half.
 */
const FIRST_PAUSE_MS = 300;

/** A try starts only if at least this many milliseconds are left. */
const SHORTEST_TRY_MS = 500;

/** The `retryAfterMs` of a refusal after a failed call, if the app store named no time. */
const DEFAULT_RETRY_AFTER_MS = 5000;

/**
 * The `retryAfterMs` of a refusal while the store refuses the service's keys. Also the shortest time in milliseconds between two log lines
 * about this. An operator needs more than a minute to correct the keys.
 */
const MISCONFIGURED_MS = 60_000;

/**
 * The `retryAfterMs` of a refusal because the store's answer cannot be interpreted, in milliseconds. The state stays unknown until a
 * developer adds it, so an early retry gains nothing.
 */
export const UNKNOWN_STATE_MS = 60_000;

/**
 * The store refuses the service's keys, or a key is unreadable. A retry does not help: an operator has to act. The message is a short reason
 * for the log.
 */
export class Misconfigured extends Error {}

/** Statuses after which a call is retried, besides 5xx. 409 means a concurrent change of the same resource. */
const RETRYABLE = new Set([408, 409, 429]);

/** The error for a status that does not end a call: a Fault if a retry may help, otherwise Misconfigured. */
export function errorOf(status: number, retryAfterMs: number | undefined): Error {
  if (status >= 500 || RETRYABLE.has(status)) return new Fault(`status ${status}`, retryAfterMs);
  return new Misconfigured(`status ${status}`);
}

/** Calls a store's API with retries, with a time limit, and with a circuit breaker. */
export class StoreCalls {
  readonly #options: Pick<StoreOptions, 'monotonic' | 'log'>;
  /** A circuit breaker for each host, because one API of a store may fail while another works. */
  readonly #circuits = new Map<string, Circuit>();
  #misconfiguredLoggedAt = -Infinity;

  constructor(options: Pick<StoreOptions, 'monotonic' | 'log'>) {
    this.#options = options;
  }

  /**
   * @param tryOnce one try, which ends at `endsAt` (by `performance.now()`). It throws a Fault if a retry may help, and Misconfigured if the
   * store refuses the service's keys
   * @param mostMs the most milliseconds for all tries together
   * @throws Refusal `app_store_unavailable`
   */
  async call<Answer>(host: string, tryOnce: (endsAt: number) => Promise<Answer>, mostMs = CALL_MS): Promise<Answer> {
    const { monotonic, log } = this.#options;
    const circuit = this.#circuitOf(host);
    const waitMs = circuit.admit(monotonic());
    if (waitMs > 0) throw appStoreUnavailable(waitMs);
    try {
      const answer = await withRetries(tryOnce, performance.now() + mostMs);
      if (circuit.succeeded()) log.info({ host }, 'the app store answers again');
      return answer;
    } catch (error) {
      if (error instanceof Misconfigured) {
        // Wrong keys are no outage, so the circuit stays closed.
        circuit.succeeded();
        this.#logMisconfigured(host, error);
        throw appStoreUnavailable(MISCONFIGURED_MS);
      }
      // Any other error comes from the service itself, such as a limit on its calls.
      if (!(error instanceof Fault)) throw error;
      if (circuit.failed(monotonic())) log.warn({ host }, 'the app store does not answer: calls to it are suspended');
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
    log.error({ host, reason: error.message }, 'the app store refuses this service: check its credentials and their rights');
  }
}

/** @throws the Fault of the last try, or Misconfigured */
async function withRetries<Answer>(tryOnce: (endsAt: number) => Promise<Answer>, deadline: number): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    try {
      return await tryOnce(Math.min(deadline, performance.now() + TRY_MS));
    } catch (error) {
      if (!(error instanceof Fault) || tries === TRIES) throw error;
      const pauseMs = error.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** (tries - 1) * (0.5 + Math.random() / 2);
      if (performance.now() + pauseMs + SHORTEST_TRY_MS > deadline) throw error;
      await pause(pauseMs);
    }
  }
}
