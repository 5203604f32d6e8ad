import type { Logger } from 'pino';
import type { ErrorCode } from '../../errors.ts';
import type { Exchange } from './exchange.ts';
import { SampledLines } from './sampled-lines.ts';

/** The route of a request, named as in the metrics and the log. It never contains text from the client. */
export interface RouteName {
  readonly method: string;
  /** The template of the path: `/v1/rooms/{code}`. */
  readonly route: string;
}

interface FailureLine {
  readonly code: ErrorCode | undefined;
  readonly outcome: unknown;
  readonly reason: unknown;
}

/**
 * The values of LOG_REQUESTS: the setting says which answers have a log line besides failed and slow ones. `refused`: answers with status
 * 400 and above.
 */
export type LoggedRequests = 'off' | 'refused' | 'all';

export interface AnswerLogSettings {
  /** The milliseconds of work after which an answer counts as slow. 0: no answer is slow. */
  readonly slowMs: number;
  readonly requests: LoggedRequests;
}

/**
 * Writes the log lines of answers: one for each answer of status 500 and above, and one for each slow answer. Answers of status 503 are the
 * only ones that say `outcome: "unknown"`. Refusals by limits and failures of an outage come in thousands, so they are sampled. Any other
 * answer writes no line, because a line takes 3 µs, half of the time of a request. With LOG_REQUESTS each answer that the setting names has
 * one line, and no answer is sampled.
 *
 * A line never holds what the client sent, except its x-request-id of at most 128 letters, digits, dots and dashes, and the trace id of its
 * traceparent.
 */
export class AnswerLog {
  readonly #log: Logger;
  readonly #slowMs: number;
  /** The lowest status whose answers have a line. */
  readonly #fromStatus: number;
  readonly #samples: boolean;
  readonly #refused: SampledLines;
  readonly #failed: SampledLines;

  constructor(log: Logger, { slowMs, requests }: AnswerLogSettings) {
    this.#log = log;
    this.#slowMs = slowMs === 0 ? Infinity : slowMs;
    this.#fromStatus = requests === 'off' ? 500 : requests === 'refused' ? 400 : 0;
    this.#samples = requests === 'off';
    this.#refused = new SampledLines((line, counts) => log.warn({ ...line, refused: counts }, 'requests refused'));
    // If only one request failed within a second, the line describes this request and needs no counts.
    this.#failed = new SampledLines((line, { failed = 0, unknown }) => {
      if (failed === 1) log.warn(line, 'request failed');
      else log.warn({ ...line, failed, unknown }, 'requests failed');
    });
  }

  /**
   * Logs an answer, if it needs a line. Called once for each request, after its answer.
   * @param status 0: the client aborted first
   * @param now on the clock of `performance.now()`
   */
  answered(exchange: Exchange, name: RouteName, status: number, now: number): void {
    if (status >= this.#fromStatus || status === 429 || exchange.workedMs(now) >= this.#slowMs) this.#tell(exchange, name, status, now);
  }

  /**
   * Writes the lines of the answers that were sampled since the last call. Called every 100 ms.
   * @param now on the clock of `performance.now()`
   */
  sweep(now: number): void {
    this.#refused.sweep(now);
    this.#failed.sweep(now);
  }

  /** Writes the remaining lines of sampled answers, at the end of the process. */
  close(): void {
    this.sweep(Infinity);
  }

  #tell(exchange: Exchange, { method, route }: RouteName, status: number, now: number): void {
    const { requestId, accountId, key, refusal } = exchange;
    const { code, details, cause } = refusal ?? {};
    const workedMs = exchange.workedMs(now);
    const durationMs = Math.round(workedMs * 10) / 10;
    const outcome = details?.['outcome'];
    const line = { requestId, traceId: exchange.trace?.id, method, route, status, code, outcome, durationMs, accountId, keyId: key?.id };
    const isLimit = code === 'rate_limited' || code === 'overloaded';
    if (this.#samples && isLimit) this.#refused.add(line, [code], now);
    else if (code === 'internal') this.#log.error({ ...line, err: errorForLog(cause) }, 'request failed');
    else if (status >= 500 && !isLimit) this.#tellFailed({ ...line, reason: cause instanceof Error ? cause.message : cause }, now);
    else if (workedMs >= this.#slowMs) this.#log.warn(line, 'slow request');
    else this.#log.info(line, status >= 400 ? 'request refused' : 'request');
  }

  /**
   * During an outage the first failures of each second have a line each if their outcome is unknown, because an operator has to find out
   * what these requests did.
   */
  #tellFailed(line: FailureLine, now: number): void {
    const isUnknown = line.outcome === 'unknown';
    const isOfOutage = this.#samples && (line.code === 'store_unavailable' || line.code === 'app_store_unavailable');
    if (!isOfOutage || (isUnknown && this.#failed.mayStandAlone(now))) this.#log.warn(line, 'request failed');
    else this.#failed.add(line, isUnknown ? ['failed', 'unknown'] : ['failed'], now);
  }
}

/**
 * The error with its type, message, stack and cause only, because pino would log every further field too. An error of ioredis has the
 * command as a field, and the command holds Redis keys with secrets of clients, such as the tokens of pairings.
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
