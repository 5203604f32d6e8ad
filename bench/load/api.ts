import { Agent as HttpAgent, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { LoadCaller } from './order.ts';

export interface ApiAnswer {
  readonly status: number;
  /** The cookie of the response, as `name=value`. */
  readonly cookie: string | undefined;
  readonly body: Record<string, unknown>;
}

/** A client for requests that are not measured: those that prepare data and those of the audit. */
export class Api {
  readonly #base: string;
  readonly #isTls: boolean;
  readonly #agent: HttpAgent | HttpsAgent;

  constructor(base: string) {
    this.#base = base.replace(/\/+$/, '');
    this.#isTls = this.#base.startsWith('https:');
    this.#agent = new (this.#isTls ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: PARALLEL });
  }

  get(path: string, headers: Record<string, string> = {}): Promise<ApiAnswer> {
    return this.#ask('GET', path, headers, undefined);
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<ApiAnswer> {
    return this.#ask('POST', path, { ...headers, 'content-type': 'application/json' }, JSON.stringify(body));
  }

  /** @throws when the status is not 200 */
  async expectOk(pending: Promise<ApiAnswer>): Promise<ApiAnswer> {
    const answer = await pending;
    if (answer.status === 200) return answer;
    throw new Error(answer.status === 429 ? RATE_LIMITED : `status ${answer.status}: ${JSON.stringify(answer.body)}`);
  }

  /** Signs installs in, which also creates their accounts. */
  signIn(installIds: readonly string[]): Promise<LoadCaller[]> {
    return inParallel(installIds, async (installId) => {
      const { cookie } = await this.expectOk(this.post('/v1/login', { installId }));
      if (cookie === undefined) throw new Error('POST /v1/login set no cookie');
      return { installId, cookie };
    });
  }

  /** Begins a trial of each caller's device, and adds the cookie of the device to that of the session. */
  touch(callers: readonly LoadCaller[]): Promise<LoadCaller[]> {
    return inParallel(callers, async ({ installId, cookie }) => {
      const { cookie: device } = await this.expectOk(this.post('/v1/trial/touch', { deviceId: installId }));
      if (device === undefined) throw new Error('POST /v1/trial/touch set no cookie');
      return { installId, cookie: `${cookie}; ${device}` };
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  #ask(method: string, path: string, headers: Record<string, string>, body: string | undefined): Promise<ApiAnswer> {
    return new Promise((resolve, reject) => {
      const ask = this.#isTls ? requestHttps : requestHttp;
      const asking = ask(this.#base + path, { method, headers, agent: this.#agent, timeout: TIMEOUT_MS }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('error', reject);
        response.on('end', () => {
          const cookie = response.headers['set-cookie']?.[0]?.split(';')[0];
          resolve({ status: response.statusCode ?? 0, cookie, body: parsed(text) });
        });
      });
      asking.on('error', reject);
      asking.on('timeout', () => asking.destroy(new Error(`${path}: no response within ${TIMEOUT_MS / 1000} s`)));
      asking.end(body);
    });
  }
}

/** Runs up to 16 at a time. The results are in the order of the items. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  run: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await run(item, index);
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return results;
}

export const RATE_LIMITED = 'the service has rate limits: start it with RATE_LIMIT=off to load-test it';

const PARALLEL = 16;
const TIMEOUT_MS = 10_000;

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { text: text.slice(0, 200) };
  }
}
