import type { Logger } from 'pino';
import type { ErrorCode } from '../../errors.ts';
import type { Exchange } from './exchange.ts';

/** The route of a request, as metrics and log name it: never what the client sent. */
export interface RouteName {
  readonly method: string;
  /** The template of the path: `/v1/rooms/{code}`. */
  readonly route: string;
}

/**
 * Writes the log lines of answers: one for each answer of status 500 and above, and one for each slow one. Answers of status 503
 * are the only ones that say `outcome: "unknown"`. Refusals by limits come in thousands, so they are sampled. Any other answer
 * writes no line, because a line takes 3 µs, half of the time of a request.
 *
 * A line never holds what the client sent, except its x-request-id of at most 128 letters, digits, dots and dashes.
 */
export class AnswerLog {
  readonly #log: Logger;
  readonly #slowMs: number;
  readonly #refused = new Map<ErrorCode, number>();
  #lastRefused: object | undefined;
  /** On the clock of `performance.now()`. */
  #nextLineAt = 0;

  /** @param slowMs an answer that the service works on for as long is slow; 0: none is */
  constructor(log: Logger, slowMs: number) {
    this.#log = log;
    this.#slowMs = slowMs === 0 ? Infinity : slowMs;
  }

  /**
   * Called once for each request, after its answer.
   * @param status 0: the client aborted first
   * @param now on the clock of `performance.now()`
   */
  answered(exchange: Exchange, name: RouteName, status: number, now: number): void {
    if (status >= 500 || status === 429 || exchange.workedMs(now) >= this.#slowMs) this.#tell(exchange, name, status, now);
  }

  /** Writes the line of the refusals that came after the last one. Called every 100 ms. @param now as above */
  sweep(now: number): void {
    if (this.#lastRefused !== undefined && now >= this.#nextLineAt) this.#tellRefused(now);
  }

  /** Writes the line of the refusals that came after the last one, at the end of the process. */
  close(): void {
    if (this.#lastRefused !== undefined) this.#tellRefused(Infinity);
  }

  #tell(exchange: Exchange, { method, route }: RouteName, status: number, now: number): void {
    const { requestId, accountId, key, refusal } = exchange;
    const { code, details, cause } = refusal ?? {};
    const durationMs = Math.round(exchange.workedMs(now) * 10) / 10;
    const line = { requestId, method, route, status, code, outcome: details?.['outcome'], durationMs, accountId, keyId: key?.id };
    if (code === 'rate_limited' || code === 'overloaded') {
      this.#refused.set(code, (this.#refused.get(code) ?? 0) + 1);
      this.#lastRefused = line;
      this.sweep(now);
    } else if (status < 500) this.#log.warn(line, 'slow request');
    else if (code === 'internal') this.#log.error({ ...line, err: errorForLog(cause) }, 'request failed');
    else this.#log.warn({ ...line, reason: cause instanceof Error ? cause.message : cause }, 'request failed');
  }

  #tellRefused(now: number): void {
    this.#log.warn({ ...this.#lastRefused, refused: Object.fromEntries(this.#refused) }, 'requests refused');
    this.#nextLineAt = now + BETWEEN_REFUSALS_MS;
    this.#lastRefused = undefined;
    this.#refused.clear();
  }
}

/**
 * An error with nothing but its type, message, stack and cause: pino logs every further field. An error of ioredis has the command
 * as a field, and with it keys that clients must keep secret, such as those of pairings.
 */
export function errorForLog(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { message, stack, cause } = error;
  return Object.create(Object.getPrototypeOf(error) as object, {
    message: { value: message },
    stack: { value: stack },
    cause: { value: cause },
  });
}

/** Under overload a process refuses thousands of requests a second. */
const BETWEEN_REFUSALS_MS = 1000;
