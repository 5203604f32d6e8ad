import { refuse } from '../../errors.ts';
import type { Channel } from '../live/channel.ts';
import { CUT_OFF_BYTES } from '../live/frame-limits.ts';
import type { OpenSockets } from '../live/open-sockets.ts';
import type { SocketData } from '../live/socket.ts';
import type { Metrics } from '../metrics.ts';
import type { HttpRequest, HttpResponse, TemplatedApp } from '../uws.ts';
import type { RouteName } from './answer-log.ts';
import type { Endpoint, EndpointDeclaration } from './endpoint.ts';
import { sendNotFound, sendRefusal } from './error-answer.ts';
import type { Exchange, ExchangeRoute } from './exchange.ts';
import { KnownMethods } from './known-methods.ts';
import { Pipeline, REDIS_DEADLINE_MS, type PipelineOptions } from './pipeline.ts';
import { headerLines } from './response-headers.ts';
import { ignoresKeys, type KeyTraits } from './server-key-credential.ts';

export interface RoutesOptions<Services> extends PipelineOptions<Services> {
  readonly endpoints: readonly Endpoint<Services>[];
  readonly channels: readonly Channel<Services>[];
  readonly metrics: Metrics;
  /** Whether the session cookie of the console is accepted in place of a server key. */
  readonly takesConsole: boolean;
  readonly live: OpenSockets<Services>;
  /** Receives each request, and passes it to `handle` or refuses it. */
  readonly receive: (response: HttpResponse, request: HttpRequest, route: Route, handle: Handle) => void;
  /** Like `ExchangeRoute.finished`, with the name of the route. */
  readonly finished: (exchange: Exchange, route: MeteredRoute, status: number) => void;
}

/** Starts the work on an exchange. uWS's request object is invalid once this function has returned. */
export type Handle = (exchange: Exchange, request: HttpRequest) => void;

type RouteTraits = Pick<EndpointDeclaration, 'query' | 'unlimited'> & KeyTraits;

/** The facts about a request that the server has to know before it reads the request. */
export interface Route extends ExchangeRoute {
  readonly unlimited: boolean;
  readonly ignoresKeys: boolean;
  /** Whether the session cookie of the console is accepted in place of a server key. */
  readonly takesConsole: boolean;
  readonly takesTypedKey: boolean;
}

/** The route under which the metrics count a request. All paths and methods (GET, HEAD) of an endpoint count under the same route. */
export interface MeteredRoute extends RouteName {
  /** Records the answer in the metrics. Status 0: the client aborted first. */
  readonly record: (status: number, milliseconds: number) => void;
}

/** The traits of the route for requests that match no endpoint or channel. */
const IGNORES_KEYS: RouteTraits = { caller: 'none' };

const BODILESS_METHODS: ReadonlySet<string> = new Set(['get', 'head']);

/** Fills uWS's router from the declarations of endpoints and channels. */
export function mountRoutes<Services>(app: TemplatedApp, options: RoutesOptions<Services>): void {
  const routes = new Routes(app, options);
  for (const channel of options.channels) routes.addChannel(channel);
  for (const endpoint of options.endpoints) routes.addEndpoint(endpoint);
  routes.addUnmatched();
}

class Routes<Services> {
  readonly #app: TemplatedApp;
  readonly #options: RoutesOptions<Services>;
  readonly #knownMethods = new KnownMethods();

  constructor(app: TemplatedApp, options: RoutesOptions<Services>) {
    this.#app = app;
    this.#options = options;
  }

  addEndpoint(endpoint: Endpoint<Services>): void {
    const { receive } = this.#options;
    const pipeline = new Pipeline(endpoint, this.#options);
    const parameterCount = countParameters(endpoint.path);
    const isGet = endpoint.method === 'GET';
    const metered = this.#metered(endpoint.method, endpoint.path);
    const handle: Handle = (exchange, request) => pipeline.serve(exchange, pathParameters(request, parameterCount));
    const serve = (method: string): ((response: HttpResponse, request: HttpRequest) => void) => {
      const route = this.#route(method, metered, endpoint);
      return (response, request) => receive(response, request, route, handle);
    };
    for (const path of [endpoint.path, ...(endpoint.aliases ?? [])]) {
      const pattern = uwsPattern(path);
      if (isGet) this.#app.get(pattern, serve('get')).head(pattern, serve('head'));
      else this.#app.post(pattern, serve('post'));
      this.#knownMethods.add(path, isGet ? ['GET', 'HEAD'] : ['POST']);
    }
  }

  addChannel(channel: Channel<Services>): void {
    const { receive, live, overload, redisDeadlineMs = REDIS_DEADLINE_MS } = this.#options;
    const route = this.#route('get', this.#metered('GET', channel.path), channel);
    const parameterCount = countParameters(channel.path);
    const pattern = uwsPattern(channel.path);
    this.#app.ws<SocketData<Services>>(pattern, {
      maxPayloadLength: CUT_OFF_BYTES,
      // In seconds. uWS sends a ping before this time has passed, so it finds a dead peer within 40 s.
      idleTimeout: 32,
      sendPingsAutomatically: true,
      // In bytes. With 1, a socket that has unsent data is sent nothing more until it drains. It is then sent the latest state.
      maxBackpressure: 1,
      closeOnBackpressureLimit: false,
      upgrade: (response, request, context) =>
        receive(response, request, route, (exchange) => {
          if (overload.refuses(exchange)) return;
          exchange.setDeadline(redisDeadlineMs);
          void live.admit(channel, exchange, pathParameters(request, parameterCount), context);
        }),
      open: (socket) => socket.getUserData().live.opened(socket),
      message: (socket, message, isBinary) => socket.getUserData().live.received(message, isBinary),
      dropped: (socket, message) => socket.getUserData().live.sendQueue.dropped(message),
      drain: (socket) => socket.getUserData().live.drained(),
      ping: (socket) => socket.getUserData().live.pinged(),
      pong: (socket) => socket.getUserData().live.pinged(),
      close: (socket) => socket.getUserData().live.closed(),
    });
    this.#app.get(pattern, (response, request) => receive(response, request, route, (exchange) => live.refuseOther(exchange)));
    this.#knownMethods.add(channel.path, ['GET']);
  }

  /** Adds the route of all requests that match no other. */
  addUnmatched(): void {
    const route = this.#route(undefined, this.#metered('any', 'unmatched'), IGNORES_KEYS);
    this.#app.any('/*', (response, request) =>
      this.#options.receive(response, request, route, (exchange) => this.#answerUnmatched(exchange)),
    );
  }

  #metered(method: string, route: string): MeteredRoute {
    return { method, route, record: this.#options.metrics.route(method, route) };
  }

  /** @param method the method of the route's requests; undefined: requests of any method and path */
  #route(method: string | undefined, metered: MeteredRoute, traits: RouteTraits): Route {
    const { takesConsole, admission, finished } = this.#options;
    const { query, unlimited = false } = traits;
    return {
      method,
      readsQuery: query !== undefined,
      unlimited,
      ignoresKeys: ignoresKeys(traits),
      takesConsole: takesConsole && traits.keyScope === 'admin',
      takesTypedKey: traits.takesTypedKey === true,
      admission,
      finished: (exchange, status) => finished(exchange, metered, status),
    };
  }

  #answerUnmatched(exchange: Exchange): void {
    const { origins, notFoundPage } = this.#options;
    const { origin } = exchange.headers;
    // If the request may have a body, which stays unread, the connection closes after the answer. uWS may hide Content-Length behind a
    // header without a name. A GET without Content-Length is trusted to have no body: closing after every GET would cost every client.
    if (exchange.headers.contentLength !== '' || !BODILESS_METHODS.has(exchange.method)) exchange.closeAfterAnswer();
    const methods = this.#knownMethods.of(exchange.path);
    if (methods === undefined) {
      const bare = exchange.path.replace(/\/+$/, '');
      const near = this.#knownMethods.of(bare)?.includes('GET') === true ? bare : undefined;
      return sendNotFound(exchange, notFoundPage, near, origins.corsHeaders(origin));
    }
    const allow = ['allow', [...methods, 'OPTIONS'].join(', ')] as const;
    if (exchange.method === 'options') return exchange.send(204, '', headerLines([allow, ...origins.preflightHeaders(origin)]));
    sendRefusal(exchange, refuse('method_not_allowed'), [allow, ...origins.corsHeaders(origin)]);
  }
}

/** The path in the form of uWS's router, which writes the parameter `{code}` as `:code`. */
function uwsPattern(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

function countParameters(path: string): number {
  return path.split('{').length - 1;
}

const NO_PARAMETERS: readonly string[] = [];

/** The values of the path parameters, in the order of the path, as sent. */
function pathParameters(request: HttpRequest, count: number): readonly string[] {
  if (count === 0) return NO_PARAMETERS;
  // Almost every path has at most one parameter. `Array.from` would take 0.2 µs more.
  if (count === 1) return [request.getParameter(0)];
  return Array.from({ length: count }, (_, index) => request.getParameter(index));
}
