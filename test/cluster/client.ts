import { Agent, request } from 'node:http';

export interface Answer {
  /** 0: no answer came. */
  readonly status: number;
  // The scenarios read the fields of the endpoints that they call.
  // oxlint-disable-next-line no-explicit-any
  readonly body: any;
}

export interface Asking {
  readonly method?: string;
  /** Sent as JSON. */
  readonly body?: object;
  /** A session's token. */
  readonly bearer?: string;
  readonly installId?: string;
}

/** The service answers within 2 s, or within 10 s if the request moves a guest. */
const TIMEOUT_MS = 5000;

/** JSON over HTTP to a service, or to any of its processes. node:http costs less than fetch. */
export class Client {
  readonly #url: () => string;
  readonly #timeoutMs: number;
  /** A third of the requests may wait 2 s for a lost shard. They must not block requests to other shards. */
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 3000 });

  /** @param url called for each request */
  constructor(url: () => string, timeoutMs = TIMEOUT_MS) {
    [this.#url, this.#timeoutMs] = [url, timeoutMs];
  }

  close(): void {
    this.#agent.destroy();
  }

  post(path: string, body: object, asking: Asking = {}): Promise<Answer> {
    return this.ask(path, { ...asking, method: 'POST', body });
  }

  /** A request without an answer resolves with status 0, and with the code of the connection's error. */
  ask(path: string, { method = 'GET', body, bearer, installId }: Asking = {}): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve) => {
      const fail = (error: Error): void =>
        resolve({ status: 0, body: { error: { code: (error as NodeJS.ErrnoException).code ?? error.message } } });
      const sent = request(
        this.#url() + path,
        {
          method,
          agent: this.#agent,
          timeout: this.#timeoutMs,
          headers: {
            ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
            ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
            ...(installId === undefined ? {} : { 'x-install-id': installId }),
          },
        },
        (response) => {
          let answer = '';
          response.on('data', (chunk: Buffer) => (answer += chunk.toString()));
          response.on('error', fail);
          response.on('end', () => {
            // A proxy's own answers are no JSON.
            const isJson = response.headers['content-type']?.startsWith('application/json') === true;
            if (response.complete) resolve({ status: response.statusCode!, body: isJson ? JSON.parse(answer) : {} });
            else fail(new Error('half an answer'));
          });
        },
      );
      sent.on('timeout', () => sent.destroy(new Error('no answer')));
      sent.on('error', fail);
      sent.end(text);
    });
  }
}
