import { performance } from 'node:perf_hooks';
import { SettingError } from '../../config.ts';
import { invalid, rateLimited, Refusal } from '../../errors.ts';
import { addressGroup, addressText } from '../address.ts';
import { AnswerLog, type LoggedRequests } from './answer-log.ts';
import type { Connections } from '../open-connections.ts';
import { Exchange } from './exchange.ts';
import type { Arrivals } from '../live/arrivals.ts';
import type { WatchedTopics } from '../live/watched-topics.ts';
import { OpenSockets } from '../live/open-sockets.ts';
import { CostlyWork } from '../costly-work.ts';
import { Overload } from './overload.ts';
import { redisUnavailable, sendRefusal } from './error-answer.ts';
import { isOverTls } from './request-data.ts';
import { RequestsPerTurn } from './requests-per-turn.ts';
import type { Headers } from './response-headers.ts';
import { mountRoutes, type Handle, type MeteredRoute, type Route, type RoutesOptions } from './routes.ts';
import { isFromConsole, isFromOwnPage, refuseRewrittenHost } from '../identity/console-sessions.ts';
import { KeyCheck, refuseBadKey } from '../identity/key-check.ts';
import type { KeyRing } from '../identity/key-ring.ts';
import type { ServerKey } from '../identity/server-keys.ts';
import type { ServedHosts } from '../identity/served-hosts.ts';
import { RefusedOrigins } from '../identity/refused-origins.ts';
import { Unanswered } from './unanswered.ts';
import { UpgradeCork } from '../live/upgrade-cork.ts';
import { uws, type HttpRequest, type HttpResponse, type ListenSocket, type TemplatedApp } from '../uws.ts';

/**
 * The interval, in milliseconds, at which the server ends overdue requests. One timer serves all requests, which is cheaper than a timer
 * for each request.
 */
const SWEEP_EVERY_MS = 100;

type OfServer = 'overload' | 'costlyWork' | 'live' | 'receive' | 'finished';

export interface ServerOptions<Services> extends Omit<RoutesOptions<Services>, OfServer> {
  /** The present time on a monotonic clock, in milliseconds. */
  readonly monotonic: () => number;
  readonly topics: WatchedTopics;
  readonly watchersPerTopic: number;
  readonly arrivals: Arrivals;
  readonly serverKeys: KeyRing;
  /** Refuses requests with a foreign Host. Undefined: requests with any Host are served. */
  readonly servedHosts: ServedHosts | undefined;
  /** Counts the connections of each address. Undefined: their number is not limited. */
  readonly connections: Connections | undefined;
  /** The most bodies that may arrive from one address at the same time. */
  readonly bodiesPerAddress: number;
  /** The milliseconds of work after which an answer is logged as slow. 0: no answer is. */
  readonly slowRequestMs: number;
  readonly loggedRequests: LoggedRequests;
}

/** The HTTP server: takes requests, limits and refuses them, ends overdue ones, and drains. Its routes are in `routes.ts`. */
export class Server<Services> {
  readonly #options: ServerOptions<Services>;
  readonly #app: TemplatedApp = uws.App();
  readonly #unanswered = new Unanswered();
  readonly #sweeper: NodeJS.Timeout;
  readonly #live: OpenSockets<Services>;
  readonly #overload: Overload;
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
      help: 'Requests that were taken and not yet answered, without probes and long-polls.',
      value: () => options.admission.inFlight,
    });
    options.metrics.gauge({ name: 'coinop_live_sockets', help: 'WebSockets open on live channels.', value: () => this.#live.count });
    this.#answerLog = new AnswerLog(options.log, { slowMs: options.slowRequestMs, requests: options.loggedRequests });
    this.#overload = new Overload(options.origins, options.admission);
    this.#refusedOrigins = new RefusedOrigins(options.origins, options.log, options.monotonic);
    this.#keyCheck = new KeyCheck(options.serverKeys, options.log);
    this.#live = new OpenSockets({ ...options, upgradeCork: this.#upgradeCork, keyCheck: this.#keyCheck });
    this.#countConnections();
    mountRoutes(this.#app, {
      ...options,
      overload: this.#overload,
      costlyWork: new CostlyWork(),
      live: this.#live,
      receive: (response, request, route, handle) => this.#receive(response, request, route, handle),
      finished: (exchange, route, status) => this.#finished(exchange, route, status),
    });
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_EVERY_MS);
    options.serverKeys.onChange(() => {
      for (const exchange of this.#unanswered.inOrder()) this.#endWait(exchange);
      this.#live.check();
    });
  }

  /** Sends a message to every socket that has subscribed to the topic. */
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
   * Accepts no new connections, answers the requests in flight, and closes. A kept-alive connection closes with its next answer, an idle
   * one at the end.
   * @param timeoutMs the server closes after this time even if requests are in flight
   * @param quietMs the server closes after this time without a request in flight: requests that were on the wire when the drain began have
   * arrived by that time
   */
  async drain(timeoutMs: number, quietMs: number): Promise<void> {
    this.#draining = true;
    if (this.#listenSocket !== undefined) uws.us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = undefined;
    // Ends the waits of long-polls: they answer with the present state.
    this.#options.topics.drain();
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
    this.#options.topics.close();
    this.#options.connections?.close();
    this.#app.close();
    this.#upgradeCork.close();
  }

  #finished(exchange: Exchange, route: MeteredRoute, status: number): void {
    this.#unanswered.delete(exchange);
    // uWS does not report the end of a connection that became a WebSocket, so the connection is counted as ended now.
    if (status === 101) this.#connectionEnded();
    const now = performance.now();
    route.record(status, now - exchange.startedAt);
    this.#answerLog.answered(exchange, route, status, now);
    if (exchange.refusal !== undefined) this.#options.metrics.refused(exchange.refusal.code);
    // If a page sends a bad key, the log of bad keys already reports it. The log of refused origins would wrongly advise to allow the
    // origin of that page.
    if (exchange.headers.origin !== '' && exchange.refusal?.code !== 'bad_key') this.#refusedOrigins.answered(exchange.headers);
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
   * Counts the request against its server key, else against its address. The address is charged before a foreign Host or a bad key is
   * refused.
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
   * Refuses a request that no other limit counts, and closes its connection, so that further requests which the client has sent ahead on it
   * are not read. An address with too many such refusals gets no answer at all. A trusted proxy always gets an answer: if a connection
   * closes without one, nginx takes the service for down, and then refuses all clients for a second (max_fails, fail_timeout).
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
   * Counts connections. A connection beyond the limit of its address is closed when it opens. It gets no answer, because it has sent no
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
   * Refuses a long-poll whose server key has expired or was revoked while it waited. A request whose handler already runs is finished
   * instead, because it may have written.
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
   * Refuses a body beyond the limit on bodies of its address. The bodies that began first go on.
   *
   * Only the sweep checks the bound. Nearly all bodies have arrived before a sweep meets them. So one client with slow bodies does not lead
   * to refusals for other clients of its address.
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

/**
 * The `Retry-After`, in milliseconds, of a request past the limit of `chargeUncounted`. Only clients behind a trusted proxy get such an
 * answer.
 */
const UNCOUNTED_WAIT_MS = 1000;

/** Milliseconds over which a drain spreads the closing of the sockets, so that the clients do not all reconnect at once. */
const SOCKET_DRAIN_MS = 3000;

/** The `Retry-After` of a refused body, in milliseconds. Most of the address's other bodies have arrived after that time. */
const BODY_WAIT_MS = 1000;

/** The interval, in milliseconds, at which a drain checks whether requests are in flight. */
const DRAIN_POLL_MS = 10;
