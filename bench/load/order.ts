/** What the load generator is asked to do, and what it says it did. Plain data: it runs in a process of its own. */
export interface LoadOrder {
  readonly url: string;
  readonly connections: number;
  /** What is sent, mixed by `share`. */
  readonly requests: readonly RequestPlan[];
  /** Who sends: request n is sent by caller n modulo their number. */
  readonly callers: readonly LoadCaller[];
  /** First half of the keys of this load's coin operations. */
  readonly keyPrefix: string;
  /** Number of the first request; the outcome says where the next order goes on. */
  readonly from: number;
  /** How long new requests are sent, in seconds; or, with `count`, until so many were sent. */
  readonly seconds: number;
  readonly count?: number;
  /** Requests a second, on a schedule that does not wait for answers. Left out: each connection asks again once it was answered. */
  readonly rate?: number;
  /** Somebody looks on: it says once a second how far it is, and does not give up where nobody listens for a while. */
  readonly isWatched?: boolean;
  /** The connections stay for the next order to the same address: orders so short that opening them would count. */
  readonly keepsConnections?: boolean;
}

/** What is said once a second of a load that is watched: counts since its start. */
export interface LoadNews {
  readonly seconds: number;
  readonly sent: number;
  /** How often each status came, and each error. */
  readonly answers: Readonly<Record<string, number>>;
}

/** What is to happen when all connections are open, and when the last answer has come. */
export interface AroundLoad {
  begin(): Promise<void>;
  end(): Promise<void>;
}

/**
 * A request. In path, headers and body `$cookie` and `$installId` stand for the caller's, `$key`, `$coins` and `$score` for
 * what follows from the request's number.
 */
export interface RequestPlan {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** How many of the requests are of this kind, as a weight; 1 unless said. */
  readonly share?: number;
  /** Its coin operation takes effect: its number is listed when it is acknowledged. */
  readonly isOperation?: boolean;
  /** Only so many different ones: the number is taken modulo this. */
  readonly repeats?: number;
}

export interface LoadCaller {
  readonly installId: string;
  /** Its session, where the load uses sessions. */
  readonly cookie?: string;
}

export interface LoadOutcome {
  /** Answers with status 200. */
  readonly done: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
  /** How often what else came instead: "status 429", "connection lost". */
  readonly failures: Record<string, number>;
  /** Numbers of the operations that were acknowledged. */
  readonly acknowledged: Uint32Array;
  /** Numbers of those that were sent and not answered: they may have taken effect. */
  readonly unanswered: Uint32Array;
  /** Where the next order goes on. */
  readonly next: number;
  /** Latency of each answer in ms, sorted; with a `rate` from when the request was due, else from when it was sent. */
  readonly latencies: Float64Array;
}

/** The operation with this number: what the load sends, and the audit looks for. */
export function operation(number: number, keyPrefix: string): { key: string; coins: number } {
  return { key: keyPrefix + number.toString(16).padStart(12, '0'), coins: 1 + (number % 9) };
}

/** A key then is as long as a UUID, and looks like one. */
export function newKeyPrefix(): string {
  return crypto.randomUUID().slice(0, 24);
}
