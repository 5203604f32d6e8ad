import type { LoadOrder } from './order.ts';

/**
 * An open-loop load: requests leave on a fixed schedule and wait for no answer. Plain data for the sender's process. A connection
 * has one request at a time, so `connections` is also the most that can be unanswered. The next order continues at `Arrivals.next`.
 */
export type ArrivalsOrder = Pick<LoadOrder, 'url' | 'connections' | 'requests' | 'callers' | 'keyPrefix' | 'from'> & {
  /** How long the sender waits for the last answers, in milliseconds. Default: longer than the service takes, also when Redis does not answer. */
  readonly lastAnswersMs?: number;
};

/** Requests a second. With `burst`, this many of them are due at the same time. */
export interface Pace {
  readonly rate: number;
  readonly burst?: number;
}

/**
 * The outcomes of the requests that were due since `start`, in the order in which they ended. Each request has one position in all lists.
 */
export interface Arrivals {
  /** Number of each request; 0 for one that was not sent. */
  readonly numbers: Uint32Array;
  /** Index into `kinds`. */
  readonly kindOf: Uint32Array;
  /** When each request was due, on the clock of `monotonicMs`. */
  readonly due: Float64Array;
  /** Time from the due time of a request until its answer, in ms. */
  readonly latencies: Float64Array;
  /** How long after its due time the sender sent each request that it sent, in ms. Large values: the sender is too slow. */
  readonly lags: Float64Array;
  /** `served`; the error code of a refusal; `lost` with its connection; UNSENT and UNANSWERED. */
  readonly kinds: readonly string[];
  readonly next: number;
}

export const SERVED = 'served';
export const LOST = 'lost';

/** All connections were waiting for an answer when the request was due. It is not sent later, because clients have no such queue. */
export const UNSENT = 'unsent';

/** No answer by the end of the load. */
export const UNANSWERED = 'unanswered';
