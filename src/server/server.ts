import { invalid, refuse, type Refusal } from '../errors.ts';
import { addressGroup } from './address.ts';
import type { Endpoint } from './endpoint.ts';
import { Exchange } from './exchange.ts';
import type { Metrics } from './metrics.ts';
import { Pipeline, sendRefusal, storeUnavailable, type PipelineParts } from './pipeline.ts';
import { uws, type HttpRequest, type HttpResponse, type ListenSocket, type TemplatedApp } from './uws.ts';

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
  /** What each path takes, by the pattern that matches it: for 405 and OPTIONS. */
  readonly #paths = new Map<string, { pattern: RegExp; methods: string[] }>();
  readonly #recordUnmatched: Recorder;
  #listenSocket: ListenSocket | undefined;
  #draining = false;

  constructor(options: ServerOptions<Services>) {
    this.#options = options;
    options.metrics.countInFlight(() => this.#inFlight.size);
    this.#recordUnmatched = options.metrics.route('any', 'unmatched');
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
        const exchange = this.#take(response, request, record, endpoint.probe);
        if (exchange === undefined) return;
        const params: string[] = [];
        for (let index = 0; index < parameterCount; index++) params.push(request.getParameter(index));
        pipeline.serve(exchange, params);
      };
      const pattern = path.replace(/\{(\w+)\}/g, ':$1');
      if (head) this.#app.get(pattern, serve).head(pattern, serve);
      else this.#app.post(pattern, serve);
      this.#allow(path, head ? ['GET', 'HEAD'] : ['POST']);
    }
  }

  #allow(path: string, methods: string[]): void {
    const source = `^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`;
    const known = this.#paths.get(source);
    if (known === undefined) this.#paths.set(source, { pattern: new RegExp(source), methods });
    else known.methods.push(...methods);
  }

  /** Takes a request in, or answers it at once where it may not come in. */
  #take(response: HttpResponse, request: HttpRequest, record: Recorder, probe = false): Exchange | undefined {
    const exchange = new Exchange(response, request);
    exchange.address = this.#options.addresses.resolve(exchange.peer, exchange.headers.forwardedFor);
    exchange.closing = this.#draining;
    exchange.onFinished = (status) => {
      this.#inFlight.delete(exchange);
      record(status, performance.now() - exchange.startedAt);
    };
    if (exchange.headers.framingIsAmbiguous) {
      this.#refuseFraming(exchange);
      return undefined;
    }
    const refusal = probe ? undefined : this.#refusal(exchange);
    if (refusal !== undefined) {
      sendRefusal(exchange, refusal, this.#options.origins.corsHeaders(exchange.headers.origin));
      return undefined;
    }
    this.#inFlight.add(exchange);
    return exchange;
  }

  /**
   * Refused a turn later: what uWS takes for a second request, in the same bytes, then meets a pending response, and uWS
   * closes the connection. Answered at once, that second request would run.
   */
  #refuseFraming(exchange: Exchange): void {
    exchange.closing = true;
    setImmediate(() => sendRefusal(exchange, invalid('content-length', 'Must be a number, sent once, or else transfer-encoding: chunked'), []));
  }

  #refusal(exchange: Exchange): Refusal | undefined {
    const { limits, now, maxInFlight } = this.#options;
    const waitMs = limits?.requests.take(addressGroup(exchange.address), now()) ?? 0;
    if (waitMs > 0) return refuse('rate_limited', { retryAfterMs: Math.ceil(waitMs) });
    return this.#inFlight.size < maxInFlight ? undefined : refuse('overloaded', { retryAfterMs: 1000 });
  }

  #unmatched(response: HttpResponse, request: HttpRequest): void {
    const exchange = this.#take(response, request, this.#recordUnmatched);
    if (exchange === undefined) return;
    const { origin } = exchange.headers;
    // Whatever body comes is not read.
    exchange.closing ||= exchange.headers.contentLength !== '' || exchange.headers.transferEncoding !== '';
    const known = this.#paths.values().find(({ pattern }) => pattern.test(exchange.path));
    if (known === undefined) return sendRefusal(exchange, refuse('not_found'), this.#options.origins.corsHeaders(origin));
    const allow = ['allow', [...known.methods, 'OPTIONS'].join(', ')] as const;
    if (exchange.method === 'options') return exchange.send(204, '', '', [allow, ...this.#options.origins.preflightHeaders(origin)]);
    sendRefusal(exchange, refuse('method_not_allowed'), [allow, ...this.#options.origins.corsHeaders(origin)]);
  }

  #sweep(): void {
    const now = performance.now();
    for (const exchange of this.#inFlight) {
      if (now < exchange.deadline) continue;
      if (exchange.readingBody) exchange.cut();
      else sendRefusal(exchange, storeUnavailable(exchange.mayHaveWritten), this.#options.origins.corsHeaders(exchange.headers.origin));
    }
  }
}

/** Counts an answer; status 0: the client went away first. */
type Recorder = (status: number, milliseconds: number) => void;

/** Requests that were on the wire when the drain began have arrived by then. */
const QUIET_TICKS = 4;
