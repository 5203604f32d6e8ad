import { performance } from 'node:perf_hooks';
import { SettingError } from '../../config.ts';
import { invalid, rateLimited, refuse, Refusal } from '../../errors.ts';
import { addressGroup, addressText } from '../address.ts';
import { AnswerLog, type LoggedRequests, type RouteName } from './answer-log.ts';
import type { Channel } from '../live/channel.ts';
import type { Connections } from '../open-connections.ts';
import type { Endpoint, EndpointDeclaration } from './endpoint.ts';
import { Exchange, type ExchangeRoute } from './exchange.ts';
import type { Hub } from '../live/hub.ts';
import type { SocketData } from '../live/socket.ts';
import { CUT_OFF_BYTES } from '../live/frame-limits.ts';
import { OpenSockets } from '../live/open-sockets.ts';
import type { Metrics } from '../metrics.ts';
import { CostlyWork } from '../costly-work.ts';
import { Overload } from './overload.ts';
import { countParameters, pathParameters, Paths, uwsPattern } from './paths.ts';
import { Pipeline, REDIS_DEADLINE_MS, type PipelineOptions } from './pipeline.ts';
import { redisUnavailable, sendNotFound, sendRefusal, type NotFoundPage } from './error-answer.ts';
import { isOverTls } from './request-data.ts';
import { ignoresKeys, type KeyTraits } from './server-key-credential.ts';
import { RequestsPerTurn } from './requests-per-turn.ts';
import { headerLines, type Headers } from './response-headers.ts';
import { isFromConsole, isFromOwnPage, refuseRewrittenHost } from '../identity/console-sessions.ts';
import { KeyCheck, refuseBadKey } from '../identity/key-check.ts';
import type { KeyRing } from '../identity/key-ring.ts';
import type { ServerKey } from '../identity/server-keys.ts';
import type { ServedHosts } from '../identity/served-hosts.ts';
import { RefusedOrigins } from '../identity/refused-origins.ts';
import { Unanswered } from './unanswered.ts';
import { UpgradeCork } from '../live/upgrade-cork.ts';
import { uws, type HttpRequest, type HttpResponse, type ListenSocket, type TemplatedApp } from '../uws.ts';

/** The interval, in milliseconds, at which the server ends overdue requests. One timer for all replaces a timer for each request. */
const SWEEP_EVERY_MS = 100;

export interface ServerOptions<Services> extends Omit<PipelineOptions<Services>, 'overload' | 'costlyWork'> {
  /** The present time on a monotonic clock, in milliseconds. */
  readonly monotonic: () => number;
  readonly endpoints: readonly Endpoint<Services>[];
  readonly channels: readonly Channel<Services>[];
  readonly hub: Hub;
  readonly watchersPerTopic: number;
  readonly metrics: Metrics;
  readonly serverKeys: KeyRing;
  /** Refuses requests with a foreign Host. Undefined: requests with every Host are served. */
  readonly servedHosts: ServedHosts | undefined;
  /** Whether the session cookie of the console is accepted in place of a server key. */
  readonly takesConsole: boolean;
  /** Counts the connections of each address. Undefined: their number is not limited. */
  readonly connections: Connections | undefined;
  /** The most bodies that may arrive from one address at the same time. */
  readonly bodiesPerAddress: number;
  /** Milliseconds of work from which on an answer is logged as slow. 0: no answer is. */
  readonly slowRequestMs: number;
  readonly loggedRequests: LoggedRequests;
  readonly notFoundPage: NotFoundPage;
}

/** The HTTP server: uWS's router, filled from the declarations of endpoints and channels, and the set of unanswered exchanges. */
export class Server<Services> {
  readonly #options: ServerOptions<Services>;
  readonly #app: TemplatedApp = uws.App();
  readonly #unanswered = new Unanswered();
  readonly #sweeper: NodeJS.Timeout;
  readonly #paths = new Paths();
  readonly #unmatchedRoute: Route;
  readonly #live: OpenSockets<Services>;
  readonly #overload: Overload;
  readonly #costlyWork = new CostlyWork();
  readonly #refusedOrigins: RefusedOrigins;
  readonly #keyCheck: KeyCheck;
  readonly #answerLog: AnswerLog;
  readonly #upgradeCork = new UpgradeCork();
  readonly #turn = new RequestsPerTurn();
  /** The number of open HTTP connections. */
  #connectionCount = 0;
  #listenSocket: ListenSocket | undefined;
  #draining = false;

  constructor(options: ServerOptions<Services>) {
    this.#options = options;
    options.metrics.gauge({
      name: 'coinop_http_requests_in_flight',
      help: 'Requests taken and not yet answered, probes and long-polls aside.',
      value: () => options.admission.inFlight,
    });
    options.metrics.gauge({ name: 'coinop_live_sockets', help: 'WebSockets open on live channels.', value: () => this.#live.count });
    this.#answerLog = new AnswerLog(options.log, { slowMs: options.slowRequestMs, requests: options.loggedRequests });
    this.#unmatchedRoute = this.#route(undefined, this.#metered('any', 'unmatched'), IGNORES_KEYS);
    this.#overload = new Overload(options.origins, options.admission);
    this.#refusedOrigins = new RefusedOrigins(options.origins, options.log, options.monotonic);
    this.#keyCheck = new KeyCheck(options.serverKeys, options.log);
    this.#live = new OpenSockets({ ...options, upgradeCork: this.#upgradeCork, keyCheck: this.#keyCheck });
    this.#countConnections();
    for (const channel of options.channels) this.#mountChannel(channel);
    for (const endpoint of options.endpoints) this.#mount(endpoint);
    this.#app.any('/*', (response, request) =>
      this.#receive(response, request, this.#unmatchedRoute, (exchange) => this.#unmatched(exchange)),
    );
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_EVERY_MS);
    options.serverKeys.onChange(() => {
      for (const exchange of this.#unanswered.inOrder()) this.#endWait(exchange);
      this.#live.check();
    });
  }

  /** Sends a message to every socket that is subscribed to the topic. */
  publish(topic: string, message: string): void {
    this.#app.publish(topic, message);
  }

  get draining(): boolean {
    return this.#draining;
  }

  /**
   * Opens the port of the service.
   * @param port 0 lets the system pick a port
   * @param shared true for a service of several workers, which all listen on the port; false refuses a second listener
   * @returns the port
   * @throws SettingError if the service cannot listen there
   */
  async listen(host: string, port: number, shared: boolean): Promise<number> {
    await this.#upgradeCork.open();
    return new Promise((resolve, reject) => {
      this.#app.listen(host, port, shared ? 0 : uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
        if (socket === false)
          return reject(new SettingError(`cannot listen on ${host}:${port}: the port is taken, or the address is not this machine's`));
        this.#listenSocket = socket;
        const opened = uws.us_socket_local_port(socket);
        this.#options.connections?.listenOn(opened);
        resolve(opened);
      });
    });
  }

  /**
   * Accepts no new connections, answers the requests in flight, and closes. A connection that was kept alive closes with its next answer,
   * an idle one at the end.
   * @param timeoutMs the server closes after this time even if requests are in flight
   * @param quietMs the server closes after this time without a request in flight: requests that were on the wire when the drain began have
   * arrived by that time
   */
  async drain(timeoutMs: number, quietMs: number): Promise<void> {
    this.#draining = true;
    if (this.#listenSocket !== undefined) uws.us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = undefined;
    // Ends the waits of long-polls: they answer with the present state.
    this.#options.hub.drain();
    await this.#live.drain(SOCKET_DRAIN_MS);
    const giveUpAt = performance.now() + timeoutMs;
    let quietSince = performance.now();
    while (performance.now() < giveUpAt && (this.#unanswered.size > 0 || performance.now() - quietSince < quietMs)) {
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
      if (this.#unanswered.size > 0) quietSince = performance.now();
    }
    clearInterval(this.#sweeper);
    this.#answerLog.close();
    this.#keyCheck.close();
    this.#options.hub.close();
    this.#options.connections?.close();
    this.#app.close();
    this.#upgradeCork.close();
  }

  #mount(endpoint: Endpoint<Services>): void {
    const pipeline = new Pipeline(endpoint, { ...this.#options, overload: this.#overload, costlyWork: this.#costlyWork });
    const parameterCount = countParameters(endpoint.path);
    const isGet = endpoint.method === 'GET';
    const metered = this.#metered(endpoint.method, endpoint.path);
    const handle: Handle = (exchange, request) => pipeline.serve(exchange, pathParameters(request, parameterCount));
    const serve = (method: string): ((response: HttpResponse, request: HttpRequest) => void) => {
      const route = this.#route(method, metered, endpoint);
      return (response, request) => this.#receive(response, request, route, handle);
    };
    for (const path of [endpoint.path, ...(endpoint.aliases ?? [])]) {
      const pattern = uwsPattern(path);
      if (isGet) this.#app.get(pattern, serve('get')).head(pattern, serve('head'));
      else this.#app.post(pattern, serve('post'));
      this.#paths.add(path, isGet ? ['GET', 'HEAD'] : ['POST']);
    }
  }

  #mountChannel(channel: Channel<Services>): void {
    const route = this.#route('get', this.#metered('GET', channel.path), channel);
    const parameterCount = countParameters(channel.path);
    const pattern = uwsPattern(channel.path);
    this.#app.ws<SocketData<Services>>(pattern, {
      maxPayloadLength: CUT_OFF_BYTES,
      // In seconds. uWS sends a ping before this time has passed, so it finds a dead peer within 40 s.
      idleTimeout: 32,
      sendPingsAutomatically: true,
      // In bytes. With 1, a socket with unsent data receives nothing more until it drains, and then the latest state.
      maxBackpressure: 1,
      closeOnBackpressureLimit: false,
      upgrade: (response, request, context) =>
        this.#receive(response, request, route, (exchange) => {
          if (this.#overload.refuses(exchange)) return;
          exchange.setDeadline(this.#options.redisDeadlineMs ?? REDIS_DEADLINE_MS);
          void this.#live.admit(channel, exchange, pathParameters(request, parameterCount), context);
        }),
      open: (socket) => socket.getUserData().live.opened(socket),
      message: (socket, message, isBinary) => socket.getUserData().live.received(message, isBinary),
      dropped: (socket, message) => socket.getUserData().live.sendQueue.dropped(message),
      drain: (socket) => socket.getUserData().live.drained(),
      ping: (socket) => socket.getUserData().live.pinged(),
      pong: (socket) => socket.getUserData().live.pinged(),
      close: (socket) => socket.getUserData().live.closed(),
    });
    this.#app.get(pattern, (response, request) => this.#receive(response, request, route, (exchange) => this.#live.refuseOther(exchange)));
    this.#paths.add(channel.path, ['GET']);
  }

  #metered(method: string, route: string): MeteredRoute {
    return { method, route, record: this.#options.metrics.route(method, route) };
  }

  /** @param method the method of the route's requests; undefined: requests of any method and path */
  #route(method: string | undefined, metered: MeteredRoute, traits: RouteTraits): Route {
    const { query, unlimited = false } = traits;
    return {
      method,
      readsQuery: query !== undefined,
      unlimited,
      ignoresKeys: ignoresKeys(traits),
      takesConsole: this.#options.takesConsole && traits.keyScope === 'admin',
      takesTypedKey: traits.takesTypedKey === true,
      admission: this.#options.admission,
      finished: (exchange, status) => {
        this.#unanswered.delete(exchange);
        // uWS does not report the end of a connection that became a WebSocket, so the connection is counted as ended now.
        if (status === 101) this.#connectionEnded();
        const now = performance.now();
        metered.record(status, now - exchange.startedAt);
        this.#answerLog.answered(exchange, metered, status, now);
        if (exchange.refusal !== undefined) this.#options.metrics.refused(exchange.refusal.code);
        // The log of bad keys already reports a key from a page. The log of refused origins would wrongly advise to allow the origin of
        // that page.
        if (exchange.headers.origin !== '' && exchange.refusal?.code !== 'bad_key') this.#refusedOrigins.answered(exchange.headers);
      },
    };
  }

  /** Passes a request to its handler, or refuses it if a header is invalid or the rate limit is exceeded. */
  #receive(response: HttpResponse, request: HttpRequest, route: Route, handle: Handle): void {
    if (this.#turn.isTooMuch(this.#connectionCount, response)) return void response.close();
    const exchange = new Exchange(response, request, route, this.#options.addresses);
    if (this.#draining || exchange.headers.endsConnection) exchange.closeAfterAnswer();
    const { invalidHeader } = exchange.headers;
    if (invalidHeader !== undefined) this.#turnAway(exchange, invalid(invalidHeader.field, invalidHeader.message), []);
    else {
      const refusal = this.#admit(exchange, route);
      if (refusal === undefined) handle(exchange, request);
      else if (refusal.code === 'rate_limited')
        this.#turnAway(exchange, refusal, this.#options.origins.corsHeaders(exchange.headers.origin));
      else this.#refuse(exchange, refusal);
    }
    if (exchange.isFinished) return;
    this.#unanswered.add(exchange);
    exchange.leaveHandler();
  }

  /**
   * Counts the request against its server key, else against its address. A foreign Host and a bad key are refused only after the address
   * was charged.
   */
  #admit(exchange: Exchange, route: Route): Refusal | undefined {
    const { headers } = exchange;
    const refusal = this.#options.servedHosts?.refusalOf(headers.host);
    if (refusal !== undefined) return this.#rateLimit(exchange, route) ?? refusal;
    if (headers.authorization === '' && !route.takesConsole) return this.#rateLimit(exchange, route);
    const key = headers.authorization === '' ? this.#consoleKeyOf(exchange) : this.#sentKeyOf(exchange, route);
    if (key === undefined || key instanceof Refusal) return this.#rateLimit(exchange, route) ?? key;
    exchange.hasKey(key);
    return this.#rateLimit(exchange, route);
  }

  #consoleKeyOf(exchange: Exchange): ServerKey | Refusal | undefined {
    const { headers } = exchange;
    const { consoleSessions, origins, addresses, secureCookies } = this.#options;
    // Only the console's page sends x-console; most requests come from servers and games.
    if (headers.console === '') return undefined;
    return consoleSessions.keyOf(headers, origins, secureCookies || isOverTls(exchange, addresses));
  }

  #sentKeyOf(exchange: Exchange, { ignoresKeys: isIgnored, takesTypedKey }: Route): ServerKey | Refusal | undefined {
    const { headers } = exchange;
    const isTyped = takesTypedKey && isFromConsole(headers, this.#options.origins);
    if (takesTypedKey && !isTyped && isFromOwnPage(headers)) return refuseRewrittenHost(headers);
    return this.#keyCheck.check(headers, () => exchange.address, { isIgnored, isTyped });
  }

  #rateLimit(exchange: Exchange, { unlimited }: Route): Refusal | undefined {
    const { admission } = this.#options;
    if (!admission.limitsAddresses) return undefined;
    if (unlimited) return admission.chargeUncounted(exchange.group) ? undefined : rateLimited(UNCOUNTED_WAIT_MS);
    const { key } = exchange;
    const waitMs = key === undefined ? admission.charge(exchange.group) : admission.chargeKey(key.id);
    return waitMs === 0 ? undefined : rateLimited(waitMs);
  }

  /**
   * Refuses a request that no other limit counts, and closes its connection: the service does not read further requests that the client has
   * sent ahead on it. An address with too many such refusals gets no answer. A trusted proxy always gets one: nginx treats a connection
   * that closes without an answer as a service that is down, and then refuses all clients for a second (max_fails, fail_timeout).
   */
  #turnAway(exchange: Exchange, refusal: Refusal, headers: Headers): void {
    const { admission, addresses } = this.#options;
    if (!admission.chargeUncounted(exchange.group) && !addresses.isTrusted(exchange.peer)) return exchange.closeInHandler(refusal);
    exchange.closeAfterAnswer();
    sendRefusal(exchange, refusal, headers);
  }

  #refuse(exchange: Exchange, refusal: Refusal): void {
    sendRefusal(exchange, refusal, this.#options.origins.corsHeaders(exchange.headers.origin));
  }

  /**
   * Counts connections. A connection beyond the bound of its address is closed when it opens. It gets no answer, because it has sent no
   * request yet.
   */
  #countConnections(): void {
    this.#app.filter((response, change) => {
      if (change === -1) return this.#connectionEnded();
      this.#connectionCount++;
      if (!this.#mayOpen(response)) response.close();
    });
  }

  #connectionEnded(): void {
    this.#connectionCount--;
    this.#turn.ended();
  }

  #mayOpen(response: HttpResponse): boolean {
    const { connections, addresses, admission, metrics } = this.#options;
    // With RATE_LIMIT=off connections are not counted.
    if (connections === undefined) return true;
    const peer = addressText(response.getRemoteAddress());
    // A trusted proxy opens connections for many clients, so they are not limited.
    if (addresses.isTrusted(peer)) return true;
    if (!connections.opened(peer)) return false;
    const mayOpen = admission.chargeUncounted(addressGroup(peer));
    if (!mayOpen) metrics.refused('rate_limited');
    return mayOpen;
  }

  #unmatched(exchange: Exchange): void {
    const { origin } = exchange.headers;
    // The connection closes after the answer if the request may have a body, which stays unread. uWS may hide Content-Length behind a
    // header without a name. A GET without Content-Length is trusted to have no body: closing after every GET would cost every client.
    if (exchange.headers.contentLength !== '' || !BODILESS_METHODS.has(exchange.method)) exchange.closeAfterAnswer();
    const methods = this.#paths.methodsOf(exchange.path);
    if (methods === undefined) {
      const bare = exchange.path.replace(/\/+$/, '');
      const near = this.#paths.methodsOf(bare)?.includes('GET') === true ? bare : undefined;
      return sendNotFound(exchange, this.#options.notFoundPage, near, this.#options.origins.corsHeaders(origin));
    }
    const allow = ['allow', [...methods, 'OPTIONS'].join(', ')] as const;
    if (exchange.method === 'options')
      return exchange.send(204, '', headerLines([allow, ...this.#options.origins.preflightHeaders(origin)]));
    sendRefusal(exchange, refuse('method_not_allowed'), [allow, ...this.#options.origins.corsHeaders(origin)]);
  }

  #sweep(): void {
    const now = performance.now();
    const bodies = new Map<string, number>();
    for (const exchange of this.#unanswered.inOrder()) {
      // Every sweep checks the keys of long-polls too, because a key may expire without a change of its record.
      if (this.#endWait(exchange)) continue;
      if (exchange.isOverdue(now)) this.#endOverdue(exchange);
      else if (exchange.isReading) this.#boundBodies(exchange, bodies);
    }
    this.#overload.sweep(now);
    this.#answerLog.sweep(now);
    this.#keyCheck.sweep(now);
  }

  /**
   * Refuses a long-poll whose server key has expired or was revoked while it waited. A request at work is finished instead, because it may
   * have written.
   */
  #endWait(exchange: Exchange): boolean {
    const { key, isWaiting } = exchange;
    const ended = key === undefined || !isWaiting ? undefined : this.#options.serverKeys.problemOf(key);
    if (ended !== undefined) this.#refuse(exchange, refuseBadKey(ended));
    return ended !== undefined;
  }

  #endOverdue(exchange: Exchange): void {
    if (exchange.waitsForClient) exchange.closeNow();
    else this.#refuse(exchange, redisUnavailable(exchange.mayHaveWritten, 'no answer in time'));
  }

  /**
   * Refuses a body beyond the bound of its address. The bodies that began first go on.
   *
   * Only the sweep checks the bound. Nearly all bodies have arrived before a sweep meets them, so a client with slow bodies
   * does not cost the other clients of its address a refusal.
   *
   * @param bodies the number counted so far, by address group
   */
  #boundBodies(exchange: Exchange, bodies: Map<string, number>): void {
    const { admission, bodiesPerAddress } = this.#options;
    if (!admission.limitsAddresses || exchange.key !== undefined) return;
    const count = (bodies.get(exchange.group) ?? 0) + 1;
    bodies.set(exchange.group, count);
    if (count <= bodiesPerAddress) return;
    exchange.stopReading();
    this.#refuse(exchange, rateLimited(BODY_WAIT_MS, 'Too many bodies of this address are on their way.'));
  }
}

/** Starts the work on an exchange. uWS's request object is invalid once this function has returned. */
type Handle = (exchange: Exchange, request: HttpRequest) => void;

type RouteTraits = Pick<EndpointDeclaration, 'query' | 'unlimited'> & KeyTraits;

const BODILESS_METHODS: ReadonlySet<string> = new Set(['get', 'head']);

/** The traits of the route for requests that match no endpoint or channel. */
const IGNORES_KEYS: RouteTraits = { caller: 'none' };

interface Route extends ExchangeRoute {
  readonly unlimited: boolean;
  readonly ignoresKeys: boolean;
  /** Whether the session cookie of the console is accepted in place of a server key. */
  readonly takesConsole: boolean;
  readonly takesTypedKey: boolean;
}

/** The route under which the metrics count a request. All paths and methods (GET, HEAD) of an endpoint have one route. */
interface MeteredRoute extends RouteName {
  /** Records the answer in the metrics. Status 0: the client aborted first. */
  readonly record: (status: number, milliseconds: number) => void;
}

/**
 * The `Retry-After`, in milliseconds, of a request past the limit of `chargeUncounted`. Only clients of a trusted proxy get such an answer.
 */
const UNCOUNTED_WAIT_MS = 1000;

/** Milliseconds over which a drain spreads the closing of the sockets, so that the clients do not all reconnect at once. */
const SOCKET_DRAIN_MS = 3000;

/** The `Retry-After` of a refused body, in milliseconds. Most of the address's other bodies have arrived after that time. */
const BODY_WAIT_MS = 1000;

/** The interval, in milliseconds, at which a drain checks whether requests are in flight. */
const DRAIN_POLL_MS = 10;
