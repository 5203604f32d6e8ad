import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import { request as secureRequest } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { now } from './history.ts';

export interface Answer {
  /** 0: no answer came. */
  readonly status: number;
  // The proofs read the fields of the endpoints that they call.
  // oxlint-disable-next-line no-explicit-any
  readonly body: any;
  readonly headers: IncomingHttpHeaders;
}

export interface Asking {
  readonly method?: string;
  /** An object is sent as JSON. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The address from which the client connects. */
  readonly from?: string;
  /** A session's token, or a server key. */
  readonly bearer?: string;
  readonly installId?: string;
}

export interface Until {
  /** Whether a refusal ends the repetitions. Default: none does. */
  readonly accepts?: (answer: Answer) => boolean;
  /** Called for each other answer than 200. */
  readonly refused?: (answer: Answer) => void;
  readonly giveUpMs?: number;
}

/** The service answers within 2 s, or within 10 s if the request moves a guest. A purchase takes up to 17 s, and a long-poll 25 s. */
const TIMEOUT_MS = 30_000;

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 800;

/** Longer than any outage. */
const GIVE_UP_MS = 180_000;

/** JSON over HTTP to a service, or to any of its processes. node:http costs less than fetch. */
export class Client {
  /** Answers other than 200, by status and error code. */
  readonly refusals = new Map<string, number>();
  readonly #url: () => string;
  readonly #agent: Agent;
  #isClosed = false;

  /**
   * @param url called for each request
   * @param from the address from which it connects
   */
  constructor(url: () => string, from?: string) {
    this.#url = url;
    // A third of the requests may wait 2 s for a lost shard. They must not block requests to other shards.
    this.#agent = new Agent({ keepAlive: true, maxSockets: 3000, ...(from === undefined ? {} : { localAddress: from }) });
  }

  get url(): string {
    return this.#url();
  }

  get internalErrors(): number {
    return this.refusals.get('500 internal') ?? 0;
  }

  get refused(): string {
    return [...this.refusals].map(([refusal, count]) => `${refusal} × ${count}`).join(', ') || 'none';
  }

  /** Ends all requests and repetitions. */
  close(): void {
    this.#isClosed = true;
    this.#agent.destroy();
  }

  post(path: string, body: object, asking: Asking = {}): Promise<Answer> {
    return this.ask(path, { ...asking, method: 'POST', body });
  }

  /** Posts again until the answer is 200 or accepted. @returns undefined if that never came */
  async until(
    path: string,
    asking: Asking | (() => Asking),
    { accepts = () => false, refused, giveUpMs = GIVE_UP_MS }: Until = {},
  ): Promise<Answer | undefined> {
    const giveUpAt = now() + giveUpMs;
    for (let retryMs = FIRST_RETRY_MS; now() < giveUpAt && !this.#isClosed; retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS)) {
      const answer = await this.ask(path, { method: 'POST', ...(typeof asking === 'function' ? asking() : asking) });
      if (answer.status === 200) return answer;
      refused?.(answer);
      if (accepts(answer)) return answer;
      await pause(retryMs * (0.5 + Math.random()));
    }
    return undefined;
  }

  /** A request that has to succeed, such as one of a set-up. */
  // oxlint-disable-next-line no-explicit-any
  async need(path: string, body: object, bearer?: string): Promise<any> {
    let last: Answer | undefined;
    const answer = await this.until(path, { body, bearer }, { refused: (refusal) => (last = refusal), giveUpMs: 30_000 });
    if (answer === undefined) throw new Error(`${path}: ${last?.status} ${JSON.stringify(last?.body)}`);
    return answer.body;
  }

  async ask(path: string, asking: Asking = {}): Promise<Answer> {
    const answer = await ask(this.url + path, asking, this.#agent);
    const refusal = `${answer.status} ${answer.body?.error?.code}`;
    if (answer.status !== 200) this.refusals.set(refusal, (this.refusals.get(refusal) ?? 0) + 1);
    return answer;
  }
}

/**
 * One request. Without an answer it resolves with status 0, and with the code of the connection's error.
 * @param agent left out: the request opens a connection for itself
 */
export function ask(
  url: string,
  { method = 'GET', body, headers, bearer, installId, from }: Asking = {},
  agent: Agent | false = false,
): Promise<Answer> {
  const text = typeof body === 'object' ? JSON.stringify(body) : body;
  const sending = {
    ...{ method, agent, timeout: TIMEOUT_MS, localAddress: from },
    // The certificate of the proxies' samples is replaced by one that signs itself.
    ...(url.startsWith('https:') ? { rejectUnauthorized: false } : {}),
    headers: {
      ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(installId === undefined ? {} : { 'x-install-id': installId }),
      ...headers,
    },
  };
  return new Promise((resolve) => {
    const fail = (error: NodeJS.ErrnoException): void =>
      resolve({ status: 0, body: { error: { code: error.code ?? error.message } }, headers: {} });
    const sent = (url.startsWith('https:') ? secureRequest : request)(url, sending, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
      response.on('error', fail);
      response.on('end', () => {
        const isJson = response.headers['content-type']?.startsWith('application/json') === true;
        if (!response.complete) fail(new Error('half an answer'));
        else resolve({ status: response.statusCode!, body: isJson ? JSON.parse(answer) : answer, headers: response.headers });
      });
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.on('error', fail);
    sent.end(text);
  });
}

/** Works on all items, some at a time. */
export async function inParallel<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>, atOnce = 64): Promise<void> {
  const rest = items[Symbol.iterator]();
  const one = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

/** Makes some of a thing. */
export const times = <Made>(count: number, make: (index: number) => Made): Made[] =>
  Array.from({ length: Math.ceil(count) }, (_, index) => make(index));

export const sum = (numbers: Iterable<number>): number => {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
};
