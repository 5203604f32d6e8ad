import { performance } from 'node:perf_hooks';
import { SettingError } from '../config.ts';
import { invalid, rateLimited, refuse, type Refusal } from '../errors.ts';
import { addressGroup } from './address.ts';
import type { Channel } from './channel.ts';
import type { Endpoint, EndpointDeclaration } from './endpoint.ts';
import { Exchange, headerLines, type ExchangeRoute } from './exchange.ts';
import type { Hub } from './hub.ts';
import { CUT_OFF_BYTES, type SocketData } from './live-socket.ts';
import { LiveSockets } from './live-sockets.ts';
import type { Metrics } from './metrics.ts';
import { Pipeline, sendRefusal, STORE_DEADLINE_MS, storeUnavailable, type PipelineParts } from './pipeline.ts';
import { UpgradeCork } from './upgrade-cork.ts';
import { uws, type HttpRequest, type HttpResponse, type ListenSocket, type TemplatedApp } from './uws.ts';

/** How often overdue requests are looked for: no timer per request. */
const SWEEP_EVERY_MS = 100;

export interface ServerOptions<Services> extends PipelineParts<Services> {
  readonly endpoints: readonly Endpoint<Services>[];
  readonly channels: readonly Channel<Services>[];
  readonly hub: Hub;
  readonly socketsPerAddress: number;
  readonly watchersPerTopic: number;
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
  readonly #unmatchedRoute: Route;
  readonly #live: LiveSockets<Services>;
  readonly #upgradeCork = new UpgradeCork();
  #parked = 0;
  #listenSocket: ListenSocket | undefined;
  #draining = false;

  constructor(options: ServerOptions<Services>) {
    this.#options = options;
    options.metrics.countInFlight(() => this.#inFlight.size - this.#parked);
    options.metrics.countSockets(() => this.#live.count);
    this.#unmatchedRoute = this.#route(options.metrics.route('any', 'unmatched'), {});
    this.#live = new LiveSockets({ ...options, upgradeCork: this.#upgradeCork });
    for (const channel of options.channels) this.#mountChannel(channel);
    for (const endpoint of options.endpoints) this.#mount(endpoint);
    this.#app.any('/*', (response, request) =>
      this.#receive(response, request, this.#unmatchedRoute, (exchange) => this.#unmatched(exchange)),
    );
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_EVERY_MS);
  }

  /** Sends one message to every socket that subscribed to a topic. */
  publish(topic: string, message: string): void {
    this.#app.publish(topic, message);
  }

  get draining(): boolean {
    return this.#draining;
  }

  /**
   * @param shared several workers of one service listen on the port; alone, a second listener is refused
   * @returns the port, which the system picks for 0
   */
  async listen(host: string, port: number, shared: boolean): Promise<number> {
    await this.#upgradeCork.open();
    return new Promise((resolve, reject) => {
      this.#app.listen(host, port, shared ? 0 : uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
        if (socket === false)
          return reject(new SettingError(`cannot listen on ${host}:${port}: the port is taken, or the address is not this machine's`));
        this.#listenSocket = socket;
        resolve(uws.us_socket_local_port(socket));
      });
    });
  }

  /**
   * Takes no new connections, answers what is in flight, and closes. Connections kept alive are closed with their next
   * answer; those that ask nothing are closed at the end.
   * @param quietMs how long nothing may have been in flight before it closes: requests that were on the wire when the drain
   * began have arrived by then
   */
  async drain(timeoutMs: number, quietMs: number): Promise<void> {
    this.#draining = true;
    if (this.#listenSocket !== undefined) uws.us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = undefined;
    // Long-polls answer with what is known.
    this.#options.hub.drain();
    await this.#live.drain(SOCKET_DRAIN_MS);
    const giveUpAt = performance.now() + timeoutMs;
    let quietSince = performance.now();
    while (performance.now() < giveUpAt && (this.#inFlight.size > 0 || performance.now() - quietSince < quietMs)) {
      await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS));
      if (this.#inFlight.size > 0) quietSince = performance.now();
    }
    clearInterval(this.#sweeper);
    this.#options.hub.close();
    this.#app.close();
    this.#upgradeCork.close();
  }

  #mount(endpoint: Endpoint<Services>): void {
    const pipeline = new Pipeline(endpoint, this.#options);
    const parameterCount = countParameters(endpoint.path);
    const head = endpoint.method === 'GET';
    const route = this.#route(this.#options.metrics.route(endpoint.method, endpoint.path), endpoint);
    const handle: Handle = (exchange, request) => pipeline.serve(exchange, pathParameters(request, parameterCount));
    const serve = (response: HttpResponse, request: HttpRequest): void => this.#receive(response, request, route, handle);
    for (const path of [endpoint.path, ...(endpoint.aliases ?? [])]) {
      const pattern = uwsPattern(path);
      if (head) this.#app.get(pattern, serve).head(pattern, serve);
      else this.#app.post(pattern, serve);
      this.#allow(path, head ? ['GET', 'HEAD'] : ['POST']);
    }
  }

  #mountChannel(channel: Channel<Services>): void {
    const route = this.#route(this.#options.metrics.route('GET', channel.path), channel);
    const parameterCount = countParameters(channel.path);
    const pattern = uwsPattern(channel.path);
    this.#app.ws<SocketData<Services>>(pattern, {
      maxPayloadLength: CUT_OFF_BYTES,
      // A ping goes out before the time is up: a dead peer is found within 40 s.
      idleTimeout: 32,
      sendPingsAutomatically: true,
      // One byte: a socket that is not empty gets nothing more until it is, and then the latest state.
      maxBackpressure: 1,
      closeOnBackpressureLimit: false,
      upgrade: (response, request, context) =>
        this.#receive(response, request, route, (exchange) => {
          exchange.dueIn(STORE_DEADLINE_MS);
          void this.#live.admit(channel, exchange, pathParameters(request, parameterCount), context);
        }),
      open: (socket) => socket.getUserData().live.opened(socket),
      message: (socket, message, isBinary) => socket.getUserData().live.received(message, isBinary),
      dropped: (socket) => socket.getUserData().live.dropped(),
      drain: (socket) => socket.getUserData().live.drained(),
      close: (socket) => socket.getUserData().live.closed(),
    });
    this.#app.get(pattern, (response, request) =>
      this.#receive(response, request, route, (exchange) => this.#live.refuseOther(channel, exchange)),
    );
    this.#allow(channel.path, ['GET']);
  }

  #allow(path: string, methods: string[]): void {
    const source = `^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`;
    const known = this.#paths.get(source);
    if (known === undefined) this.#paths.set(source, { pattern: new RegExp(source), methods });
    else known.methods.push(...methods);
  }

  #route(record: Recorder, { query, probe = false, unlimited = false }: RouteTraits): Route {
    return {
      readsQuery: query !== undefined,
      probe,
      unlimited,
      parked: () => this.#parked++,
      finished: (exchange, status) => {
        if (this.#inFlight.delete(exchange) && exchange.parked) this.#parked--;
        record(status, performance.now() - exchange.startedAt);
      },
    };
  }

  /** Hands a request to its handler, or answers it at once where it may not come in. */
  #receive(response: HttpResponse, request: HttpRequest, route: Route, handle: Handle): void {
    const exchange = new Exchange(response, request, route, this.#options.addresses);
    exchange.closing = this.#draining || exchange.headers.endsConnection;
    const { fault } = exchange.headers;
    if (fault !== undefined) {
      exchange.closing = true;
      sendRefusal(exchange, invalid(fault.field, fault.message), []);
    } else {
      const refusal = this.#refusal(exchange, route);
      if (refusal === undefined) {
        // A probe must be answered under any load, and never be load itself.
        if (route.probe) exchange.park(STORE_DEADLINE_MS);
        handle(exchange, request);
      } else sendRefusal(exchange, refusal, this.#options.origins.corsHeaders(exchange.headers.origin));
    }
    if (exchange.finished) return;
    this.#inFlight.add(exchange);
    if (exchange.parked) this.#parked++;
    exchange.leaveHandler();
  }

  #refusal(exchange: Exchange, { probe, unlimited }: Route): Refusal | undefined {
    if (unlimited) return undefined;
    const { limits, now, maxInFlight } = this.#options;
    const waitMs = limits === undefined ? 0 : limits.requests.take(addressGroup(exchange.address), now());
    if (waitMs > 0) {
      // What it has sent ahead on this connection is not worth reading.
      exchange.closing = true;
      return rateLimited(waitMs);
    }
    if (probe || this.#inFlight.size - this.#parked < maxInFlight) return undefined;
    exchange.closing = true;
    return refuse('overloaded', { retryAfterMs: 1000 });
  }

  #unmatched(exchange: Exchange): void {
    const { origin } = exchange.headers;
    // Whatever body comes is not read.
    exchange.closing ||= exchange.headers.contentLength !== '';
    const known = this.#paths.values().find(({ pattern }) => pattern.test(exchange.path));
    if (known === undefined) return sendRefusal(exchange, refuse('not_found'), this.#options.origins.corsHeaders(origin));
    const allow = ['allow', [...known.methods, 'OPTIONS'].join(', ')] as const;
    if (exchange.method === 'options')
      return exchange.send(204, '', headerLines([allow, ...this.#options.origins.preflightHeaders(origin)]));
    sendRefusal(exchange, refuse('method_not_allowed'), [allow, ...this.#options.origins.corsHeaders(origin)]);
  }

  #sweep(): void {
    const now = performance.now();
    for (const exchange of this.#inFlight) {
      if (now < exchange.deadline) continue;
      if (exchange.readingBody || exchange.writing) exchange.cut();
      else sendRefusal(exchange, storeUnavailable(exchange.mayHaveWritten), this.#options.origins.corsHeaders(exchange.headers.origin));
    }
  }
}

/** `{code}` is `:code` to uWS. */
function uwsPattern(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

function countParameters(path: string): number {
  return path.split('{').length - 1;
}

const NO_PARAMETERS: readonly string[] = [];

function pathParameters(request: HttpRequest, count: number): readonly string[] {
  if (count === 0) return NO_PARAMETERS;
  return Array.from({ length: count }, (_, index) => request.getParameter(index));
}

/** Hands an exchange on; the request is dead once this returns. */
type Handle = (exchange: Exchange, request: HttpRequest) => void;

type RouteTraits = Pick<EndpointDeclaration, 'query' | 'probe' | 'unlimited'>;

interface Route extends ExchangeRoute {
  readonly probe: boolean;
  readonly unlimited: boolean;
}

/** Counts an answer; status 0: the client went away first. */
type Recorder = (status: number, milliseconds: number) => void;

/** Sockets are sent off over this long, so that they do not all come back in one moment. */
const SOCKET_DRAIN_MS = 3000;

/** How often a drain looks whether anything is in flight. */
const DRAIN_LOOK_MS = 10;
