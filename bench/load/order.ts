/** An HTTP load. Plain data, because the load generator runs in a separate process. */
export interface LoadOrder {
  readonly url: string;
  readonly connections: number;
  /** The requests, mixed by `share`. */
  readonly requests: readonly RequestPlan[];
  /** Request n is sent by caller n modulo the number of callers. */
  readonly callers: readonly LoadCaller[];
  /** The first 24 characters of each coin operation's key. */
  readonly keyPrefix: string;
  /** Number of the first request. The next order continues at `LoadOutcome.next`. */
  readonly from: number;
  /** How long to send new requests, in seconds. With `count` the load also ends after that many requests. */
  readonly seconds: number;
  readonly count?: number;
  /** Requests a second, on a fixed schedule (open loop). Left out: each connection sends again after a response (closed loop). */
  readonly rate?: number;
  /** Reports news once a second, and reconnects to a service that is away instead of ending the load. */
  readonly isWatched?: boolean;
  /** Keeps the connections open for the next order to the same address, for orders so short that connecting would show. */
  readonly keepsConnections?: boolean;
}

/** The progress of a watched load, once a second: counts since its start. */
export interface LoadNews {
  readonly seconds: number;
  readonly sent: number;
  /** Counts of each status and error. */
  readonly answers: Readonly<Record<string, number>>;
}

/** `begin` runs when all connections are open, `end` after the last response. */
export interface AroundLoad {
  begin(): Promise<void>;
  end(): Promise<void>;
}

/**
 * A template of requests. In path, headers and body, `$cookie` and `$installId` stand for the caller's values; `$key`,
 * `$coins` and `$score` are computed from the request's number.
 */
export interface RequestPlan {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Weight of this request in the mix; 1 by default. */
  readonly share?: number;
  /** The request is a coin operation that takes effect, so the outcome lists its number for the audit. */
  readonly isOperation?: boolean;
  /** Number of different requests: the request's number is taken modulo this. */
  readonly repeats?: number;
}

export interface LoadCaller {
  readonly installId: string;
  /** The session cookie, in a load that uses sessions. */
  readonly cookie?: string;
}

export interface LoadOutcome {
  /** Number of responses with status 200. */
  readonly done: number;
  /** Time from the first request to the last response. */
  readonly seconds: number;
  /** Counts of all other statuses and errors: "status 429", "connection lost". */
  readonly failures: Record<string, number>;
  /** Numbers of the acknowledged operations. */
  readonly acknowledged: Uint32Array;
  /** Numbers of the operations without a response, which may have taken effect. */
  readonly unanswered: Uint32Array;
  /** Number of the next order's first request. */
  readonly next: number;
  /** Latency of each response with status 200 in ms, sorted. With a `rate` it counts from the due time, else from sending. */
  readonly latencies: Float64Array;
}

/** The coin operation with this number. The load sends it, and the audit expects it. */
export function operation(number: number, keyPrefix: string): { key: string; coins: number } {
  return { key: keyPrefix + number.toString(16).padStart(12, '0'), coins: 1 + (number % 9) };
}

/** The prefix is 24 characters of a UUID. With the 12 digits of `operation` a key has the length and form of a UUID. */
export function newKeyPrefix(): string {
  return crypto.randomUUID().slice(0, 24);
}
