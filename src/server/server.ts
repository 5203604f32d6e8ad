import { refuse } from '../errors.ts';
import type { Endpoint } from './endpoint.ts';
import { Exchange } from './exchange.ts';
import type { Metrics } from './metrics.ts';
import { Pipeline, sendRefusal, storeUnavailable, type PipelineParts } from './pipeline.ts';
import { uws, type HttpRequest, type HttpResponse, type ListenSocket, type TemplatedApp } from './uws.ts';

/** A request that waits for Redis is answered 503 after this long. */
const STORE_DEADLINE_MS = 2000;

/** A body that takes longer than this to arrive is cut off. */
const BODY_DEADLINE_MS = 10_000;

/** How often overdue requests are looked for: no timer per request. */
const SWEEP_EVERY_MS = 100;

export interface ServerOptions<Services> extends PipelineParts<Services> {
  readonly endpoints: readonly Endpoint<Services>[];
  readonly metrics: Metrics;
  readonly maxInFlight: number;
}

/** The HTTP server: uWS's router filled from the endpoints' declarations, and the list of what is in flight. */
export class Server<Services> {
  readonly #options: ServerOptions<Services>;
  readonly #app: TemplatedApp = uws.App();
  readonly #inFlight = new Set<Exchange>();
  readonly #sweeper: NodeJS.Timeout;
  readonly #paths: { pattern: RegExp; methods: Set<string> }[] = [];
  readonly #record: Record<'unmatched', (status: number, milliseconds: number) => void>;
  #listenSocket: ListenSocket | undefined;
  #draining = false;

  constructor(options: ServerOptions<Services>) {
    this.#options = options;
    this.#record = { unmatched: options.metrics.route('any', 'unmatched') };
    for (const endpoint of options.endpoints) this.#mount(endpoint);
    this.#app.any('/*', (response, request) => this.#unmatched(response, request));
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_EVERY_MS);
  }

  get draining(): boolean {
    return this.#draining;
  }

  /**
   * @param shared several workers of one service listen on the port; alone, a second listener is refused
   * @returns the port, which the system picks for 0
   */
  listen(host: string, port: number, shared: boolean): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#app.listen(host, port, shared ? 0 : uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
        if (socket === false) return reject(new Error(`cannot listen on ${host}:${port}: the port is taken, or the address is not this machine's`));
        this.#listenSocket = socket;
        resolve(uws.us_socket_local_port(socket));
      });
    });
  }

  /**
   * Takes no new connections, answers what is in flight, and closes. Connections kept alive are closed with their next
   * answer; those that ask nothing are closed at the end.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    if (this.#listenSocket !== undefined) uws.us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = undefined;
    const giveUpAt = performance.now() + timeoutMs;
    let quietTicks = 0;
    while (quietTicks < QUIET_TICKS && performance.now() < giveUpAt) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      quietTicks = this.#inFlight.size === 0 ? quietTicks + 1 : 0;
    }
    clearInterval(this.#sweeper);
    this.#app.close();
  }

  #mount(endpoint: Endpoint<Services>): void {
    const pipeline = new Pipeline(endpoint, this.#options);
    const parameterCount = (endpoint.path.match(/\{/g) ?? []).length;
    const head = endpoint.method === 'GET';
    for (const path of [endpoint.path, ...(endpoint.aliases ?? [])]) {
      const record = this.#options.metrics.route(endpoint.method, endpoint.path);
      const serve = (response: HttpResponse, request: HttpRequest): void => {
        const exchange = this.#take(response, request, record);
        if (exchange === undefined) return;
        const params: string[] = [];
        for (let index = 0; index < parameterCount; index++) params.push(request.getParameter(index));
        exchange.deadline = exchange.startedAt + (endpoint.method === 'GET' ? STORE_DEADLINE_MS : BODY_DEADLINE_MS);
        pipeline.serve(exchange, params);
      };
      const pattern = path.replace(/\{(\w+)\}/g, ':$1');
      if (head) this.#app.get(pattern, serve).head(pattern, serve);
      else this.#app.post(pattern, serve);
      this.#allow(path, head ? ['GET', 'HEAD'] : ['POST']);
    }
  }

  #allow(path: string, methods: string[]): void {
    const source = `^${path.replace(/[.?]/g, '\\$&').replace(/\{\w+\}/g, '[^/]+')}$`;
    let entry = this.#paths.find(({ pattern }) => pattern.source === new RegExp(source).source);
    if (entry === undefined) this.#paths.push((entry = { pattern: new RegExp(source), methods: new Set() }));
    for (const method of methods) entry.methods.add(method);
  }

  /** Takes a request in, or answers it at once where it may not come in. */
  #take(response: HttpResponse, request: HttpRequest, record: (status: number, milliseconds: number) => void): Exchange | undefined {
    const exchange = new Exchange(response, request);
    exchange.closing = this.#draining;
    exchange.onFinished = (status) => {
      this.#inFlight.delete(exchange);
      record(status, performance.now() - exchange.startedAt);
    };
    if (exchange.headers.framingIsAmbiguous) {
      exchange.closing = true;
      sendRefusal(exchange, refuse('invalid_request', { message: 'content-length: Must be sent once, and not with transfer-encoding', field: 'content-length' }), []);
      return undefined;
    }
    if (this.#inFlight.size >= this.#options.maxInFlight) {
      exchange.closing = true;
      sendRefusal(exchange, refuse('overloaded', { retryAfterMs: 1000 }), this.#options.origins.corsHeaders(exchange.headers.origin));
      return undefined;
    }
    this.#inFlight.add(exchange);
    this.#options.metrics.inFlight.set(this.#inFlight.size);
    return exchange;
  }

  #unmatched(response: HttpResponse, request: HttpRequest): void {
    const exchange = this.#take(response, request, this.#record.unmatched);
    if (exchange === undefined) return;
    const { origin } = exchange.headers;
    // Whatever body comes is not read.
    exchange.closing ||= exchange.headers.contentLength !== '' || exchange.headers.hasTransferEncoding;
    const known = this.#paths.find(({ pattern }) => pattern.test(exchange.path));
    if (known === undefined) return sendRefusal(exchange, refuse('not_found'), this.#options.origins.corsHeaders(origin));
    const allow = ['allow', [...known.methods, 'OPTIONS'].join(', ')] as const;
    if (exchange.method === 'options') return exchange.send(204, '', '', [allow, ...this.#options.origins.preflightHeaders(origin)]);
    sendRefusal(exchange, refuse('method_not_allowed'), [allow, ...this.#options.origins.corsHeaders(origin)]);
  }

  #sweep(): void {
    const now = performance.now();
    for (const exchange of this.#inFlight) {
      if (now < exchange.deadline) continue;
      sendRefusal(exchange, storeUnavailable(exchange.mayHaveWritten), this.#options.origins.corsHeaders(exchange.headers.origin));
    }
    this.#options.metrics.inFlight.set(this.#inFlight.size);
  }
}

/** Requests that were on the wire when the drain began have arrived by then. */
const QUIET_TICKS = 4;

export { STORE_DEADLINE_MS };
