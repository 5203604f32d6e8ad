import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Holding } from './accounts/holdings.ts';
import { checkCaller } from './accounts/account.ts';
import { settled } from './accounts/standing-look.ts';
import { noteSession } from './accounts/session-list.ts';
import { CallerScripts } from './accounts/caller-scripts.ts';
import { api, channels } from './api.ts';
import { BackgroundAudit, type AuditResult } from './consistency/background.ts';
import { allowsLoopbackOrigins, SettingError, type Config, type SessionKey } from './config.ts';
import type { Services } from './declare.ts';
import { Deletions } from './features/accounts/deletions.ts';
import { RunningExports } from './features/accounts/running-exports.ts';
import { WaitingDeletions } from './features/accounts/waiting-deletions.ts';
import { Catalogue } from './features/catalogue/file.ts';
import { AddressGrowth } from './features/coins/address-growth.ts';
import { CoinTotals } from './features/coins/coin-totals.ts';
import { KeySecret } from './features/coins/key-secret.ts';
import { keySecretKind } from './features/coins/secret-keys.ts';
import { ProofKeys } from './features/entitlement/proof-keys.ts';
import { BoardCache } from './features/highscores/board-cache.ts';
import { PlayerIds } from './features/highscores/player-ids.ts';
import { operatorApi } from './operator/endpoints.ts';
import { pairFeed } from './features/pairing/feed.ts';
import { roomFeed } from './features/rooms/feed.ts';
import { Presence } from './features/rooms/presence.ts';
import { MoveJournal } from './features/store/move-journal.ts';
import { checkSoon, purchaseChecks } from './features/subscription/purchase-check.ts';
import type { AppStore, StoreParts } from './stores/store.ts';
import { openStore } from './stores/stores.ts';
import { exportAccount } from './features/accounts/export.ts';
import { holdings } from './holdings.ts';
import { version } from './web/version.ts';
import type { RedisLocation } from './redis/connect.ts';
import { openConnections, type RedisConnections } from './redis/connections.ts';
import { figuresOf } from './redis/figures.ts';
import { DataGuard } from './redis/data-guard.ts';
import type { DataMemory } from './redis/known-data.ts';
import type { ScriptLink } from './redis/script-link.ts';
import { isOfDisk, type RedisTrouble } from './redis/trouble.ts';
import { WriteRefusals } from './redis/write-refusals.ts';
import { ClientAddresses } from './server/address.ts';
import { Connections } from './server/connections.ts';
import type { Endpoint } from './server/http/endpoint.ts';
import { Server } from './server/http/server.ts';
import { KeyRing } from './server/identity/key-ring.ts';
import { Origins } from './server/identity/origin.ts';
import { Sessions } from './server/identity/sessions.ts';
import { TokenSigner } from './server/identity/signed-token.ts';
import type { Admission } from './server/admission.ts';
import { admissionOf, unlessOff } from './server/limit-settings.ts';
import { Hub } from './server/live/hub.ts';
import { Metrics, type DiskRoom } from './server/metrics.ts';
import { monotonic as processClock } from './server/monotonic.ts';
import { keptFor, oneAtATime } from './server/one-at-a-time.ts';
import type { Reservations } from './server/reservations.ts';
import { within } from './server/within.ts';
import { settingProblems, warnOfSettings } from './setting-checks.ts';
import { upgrades } from './upgrades.ts';

export interface ServiceOptions {
  redis: RedisLocation;
  sessionKeys: readonly SessionKey[];
  log: Logger;
  /** True: other workers of this service listen on the same port. */
  shared?: boolean;
  /** True: no other process uses this Redis. */
  isAlone?: boolean;
  /** Of the private Redis. Undefined: the Redis is another one. */
  privateRedis?: PrivateRedisWatch;
  /** Remembers the id of the data beyond the life of the process. Default: only this process knows it. */
  dataMemory?: DataMemory;
  /** Counts creations, misses, sockets and ledger entries for all workers together. Default: this process counts its own. */
  reservations?: Reservations;
  /** Milliseconds since 1970. Tests set their own clock. */
  now?: () => number;
  /** Milliseconds of a clock that nobody sets, for intervals. Tests move it. */
  monotonic?: () => number;
  /** Audits the Redis of these settings (REDIS_URL or DATA_DIR), for AUDIT_EVERY_HOURS. Default: no audit in the background. */
  audit?: (settings: Record<string, string>, signal: AbortSignal) => Promise<AuditResult>;
  /** Prometheus text of all workers. Default: the metrics of this process. */
  metricsText?: () => Promise<string>;
  /** For tests: an app store in place of the one that STORE names. */
  store?: (parts: StoreParts) => AppStore;
  /** For tests: what is kept of accounts, in place of what `holdings.ts` lists. */
  holdings?: readonly Holding[];
  /** For tests: a script that touches keys of two slots fails. */
  checksTags?: boolean;
}

export interface Service {
  readonly port: number;
  readonly metrics: Metrics;
  /** Prometheus text of all workers together. */
  metricsText(): Promise<string>;
  readonly connections: RedisConnections;
  /** The connection to one Redis, and the one that runs its scripts. For tests and the bench; a Cluster has neither. */
  readonly redis: Redis;
  readonly link: ScriptLink;
  /**
   * Refuses new connections, answers the requests in flight, closes all sockets and disconnects from Redis.
   * @param quietMs how long no request may have been in flight before the server closes, in milliseconds
   */
  drain(quietMs?: number): Promise<void>;
}

/** How long a metrics text is served again. Encoding it costs 2 ms, and the endpoint is public; scrapers come every few seconds. */
export const METRICS_KEPT_MS = 1000;

/** Time limit for the requests in flight at a drain. The whole stop has 25 s. */
const DRAIN_MS = 15_000;

/** How long a start waits for the secret of the ledgers. An upgrade of their data may take minutes; the service is not ready then. */
const SECRET_WAIT_MS = 5000;

/** How long a scrape waits for what a Redis says of itself. */
const FIGURES_MS = 1000;

/** Default of `quietMs`. A request that a client sent before it noticed the drain arrives within this time. */
const DRAIN_QUIET_MS = 200;

/**
 * Builds one serving process from its parts, connects it to Redis and listens.
 * @throws SettingError for bad settings, a taken port, or a database that Redis refuses
 */
export async function startService(config: Config, options: ServiceOptions): Promise<Service> {
  // Checked before connecting: the refused start then leaves no connection or timer behind. After a later failure main.ts ends
  // the process.
  const problems = settingProblems(config);
  if (problems.length > 0) throw new SettingError(problems.join('\n'));
  // Of several workers none warns: their primary does, once.
  if (options.shared !== true) warnOfSettings(config, options.log);

  const connections = openConnections(options.redis, config.REDIS_WAIT_REPLICAS, options.log);
  const opened = connections.opened();
  let port = config.PORT;
  const refusals = new WriteRefusals(() => connections.health(), options.log);
  const data = new DataGuard(connections, {
    log: options.log,
    secret: keySecretKind,
    memory: options.dataMemory,
    accepts: config.ACCEPT_DATA,
    replicas: config.REDIS_WAIT_REPLICAS,
    mayWrite: () => !isOfDisk(options.privateRedis?.trouble()),
    opened,
  });
  const services = servicesOf(config, options, connections, data, {
    failed: refusals.refused,
    publish: (topic, message) => server.publish(topic, message),
    isDraining: () => server.draining,
    address: () => ownAddress(config.HOST, port),
  });
  const { keySecret, serverKeys, metrics, metricsText, store, hub } = services;
  watchData(services, connections, options.privateRedis);
  const admission = admissionOf(config, options.reservations, services.monotonic);
  const server = serverOf(config, admission, services, options.holdings ?? holdings);
  // What was sent of lost data is no longer true: watchers connect again, and are refused until the data is accepted.
  data.on('lost', () => hub.endAll());
  await opened;
  await within(SECRET_WAIT_MS, data.look());
  // While Redis or the Cluster is away this returns at once, and the secret is read once it is back.
  await within(SECRET_WAIT_MS, Promise.all([keySecret.read(), serverKeys.read()]));
  port = await server.listen(config.HOST, config.PORT, options.shared ?? false);
  const queues = [
    services.moves.takeOver(),
    services.deletions.takeOver(),
    ...(store === undefined ? [] : [purchaseChecks({ ...services, store })]),
  ];
  const waiting = new WaitingDeletions(services);
  metrics.watchDeletions(() => waiting.count);
  const audit = options.audit && backgroundAudit(config, options.audit, services);
  const growth = admission.entries && new AddressGrowth({ ...services, budget: admission.entries });
  return {
    port,
    metrics,
    metricsText,
    connections,
    redis: connections.source as Redis,
    link: connections.scripts as ScriptLink,
    async drain(quietMs = DRAIN_QUIET_MS) {
      const queuesClosed = Promise.all(queues.map((queue) => queue.close()));
      await server.drain(DRAIN_MS, quietMs);
      await Promise.all([queuesClosed, audit?.close(), growth?.close()]);
      await services.presence.close();
      waiting.close();
      refusals.close();
      data.close();
      keySecret.close();
      serverKeys.close();
      services.catalogue.close();
      connections.disconnect();
    },
  };
}

/** What is known of the private Redis without asking it. */
export interface PrivateRedisWatch {
  /** Why it ended a moment ago. */
  trouble(): RedisTrouble | undefined;
  /** Room on the disk of its data. */
  disk(): DiskRoom | undefined;
  /** The memory of this machine or container. */
  readonly memoryBytes: number | undefined;
}

function watchData({ metrics }: Services, connections: RedisConnections, privateRedis: PrivateRedisWatch | undefined): void {
  // All gauges of one scrape share one look.
  const figures = oneAtATime(async () => {
    const asked = connections.nodes.map(({ name, redis }) =>
      Promise.race([figuresOf(name, redis, privateRedis?.memoryBytes), pause(FIGURES_MS, undefined, { ref: false })]).catch(
        () => undefined,
      ),
    );
    return (await Promise.all(asked)).filter((node) => node !== undefined);
  });
  metrics.watchData(figures, () => privateRedis?.disk());
}

/** What the services ask of the server, which is made after them, and of its watch over Redis. */
interface OfServer {
  /** Gets the errors of scripts. */
  readonly failed: (message: string) => void;
  readonly publish: (topic: string, message: string) => void;
  readonly isDraining: () => boolean;
  /** The service's own URL. */
  readonly address: () => string;
}

function servicesOf(config: Config, options: ServiceOptions, connections: RedisConnections, data: DataGuard, ofServer: OfServer): Services {
  const { log, now = Date.now, monotonic = processClock, holdings: held = holdings } = options;
  const { publish, failed } = ofServer;
  const metrics = new Metrics(version);
  const { subscriber, durable, source } = connections;
  const replicas = config.REDIS_WAIT_REPLICAS;
  const { checksTags } = options;
  const redisHealth = oneAtATime(() => connections.health());
  const scripts = new CallerScripts(connections.scripts, {
    now,
    observe: metrics.observeScript,
    failed,
    replicas,
    durable,
    data,
    checksTags,
  });
  const tokens = new TokenSigner(options.sessionKeys);
  const storeParts = { scripts, address: ofServer.address, log, now, monotonic };
  const { store, sandbox } = openStore(config, storeParts);
  const keySecret = new KeySecret(source, log, { guard: data, upgrades });
  const catalogue = new Catalogue(config.CATALOGUE_FILE, log);
  scripts.accountCreated = () => metrics.accountCreated('install');
  metrics.watchRedis(() => connections.isReady);
  metrics.watchLoss(() => data.problem !== undefined);
  const moves = new MoveJournal({ scripts, catalogue, config, holdings: held, keySecret, log, now });
  scripts.helpMove = (accountId) => moves.help(accountId);
  return {
    config,
    scripts,
    hub: new Hub({ publish, bytesPerSecond: config.ROOM_BYTES_PER_SECOND, subscriber, log, now }),
    feeds: { room: roomFeed(scripts, now), pair: pairFeed(scripts, now) },
    presence: new Presence({ subscriber, scripts, config, log, now }),
    sessions: new Sessions(tokens, { now }),
    tokens,
    proofKeys: new ProofKeys(options.sessionKeys),
    catalogue,
    boards: new BoardCache(subscriber, options.isAlone ?? false),
    keySecret,
    serverKeys: new KeyRing({ scripts, subscriber, log, now }),
    moves,
    deletions: new Deletions({ scripts, catalogue, config, holdings: held, metrics, log, now }),
    exports: new RunningExports(),
    playerIds: new PlayerIds(),
    metrics,
    coinTotals: new CoinTotals(metrics),
    store: options.store?.(storeParts) ?? store,
    checkPurchaseSoon: (token) => checkSoon(token, { scripts, now }),
    sandbox,
    log,
    now,
    monotonic,
    readiness: async () => {
      if (ofServer.isDraining()) return { ok: false, problem: 'draining' };
      const trouble = options.privateRedis?.trouble();
      if (connections.isAway) return { ok: false, problem: `redis is away${whyOf(trouble)}` };
      // It was started again, and ends at the next write.
      if (isOfDisk(trouble)) return { ok: false, problem: `redis has ended, and would end at its next write${whyOf(trouble)}` };
      if (data.problem !== undefined) return { ok: false, problem: data.problem };
      const health = await redisHealth();
      if (!health.ok || keySecret.isKnown) return health;
      return { ok: false, problem: 'the ledgers are not readable yet, or are being upgraded' };
    },
    metricsText: oneAtATime(
      keptFor(METRICS_KEPT_MS, monotonic, async () => (await options.metricsText?.()) ?? (await metrics.registry.metrics())),
    ),
  };
}

/** `: the disk of Redis is full (docs/operations/runbook.md#a-full-disk)` */
function whyOf(trouble: RedisTrouble | undefined): string {
  return trouble === undefined ? '' : `: ${trouble.text.replace(/\.$/, '')} (${trouble.mend})`;
}

function serverOf(config: Config, admission: Admission, services: Services, held: readonly Holding[]): Server<Services> {
  const { scripts, hub, sessions, serverKeys, metrics, log, now, monotonic } = services;
  const addresses = new ClientAddresses(config.TRUSTED_PROXIES);
  return new Server({
    endpoints: endpointsOf(config, held),
    channels,
    hub,
    watchersPerTopic: config.WATCHERS_PER_ROOM,
    services,
    sessions,
    checkCaller: (caller) => scripts.runAs(caller, checkCaller, {}, {}),
    noteSession: (caller, userAgent) => noteSession(caller, userAgent, { scripts, now }),
    followMove: async (accountId) => (await settled(accountId, scripts)).accountId,
    serverKeys,
    metrics,
    log,
    monotonic,
    origins: new Origins(config.ALLOWED_ORIGINS, config.PUBLIC_URL, allowsLoopbackOrigins(config)),
    sameSite: config.COOKIE_SAME_SITE,
    secureCookies: config.production || config.PUBLIC_URL?.startsWith('https:') === true,
    addresses,
    admission,
    connections: unlessOff(
      config,
      new Connections({
        perAddress: config.CONNECTIONS_PER_ADDRESS,
        workers: config.WORKERS,
        isTrusted: (address) => addresses.isTrusted(address),
        log,
      }),
    ),
    bodiesPerAddress: config.BODIES_PER_ADDRESS,
    slowRequestMs: config.SLOW_REQUEST_MS,
  });
}

function backgroundAudit(
  config: Config,
  runAudit: NonNullable<ServiceOptions['audit']>,
  { scripts, metrics, log }: Services,
): BackgroundAudit | undefined {
  const { AUDIT_EVERY_HOURS, REDIS_URL, DATA_DIR } = config;
  if (AUDIT_EVERY_HOURS === 0) return undefined;
  const settings: Record<string, string> = REDIS_URL === undefined ? { DATA_DIR } : { REDIS_URL };
  const run = (signal: AbortSignal) => runAudit(settings, signal);
  const audit = new BackgroundAudit({ scripts, everyMs: AUDIT_EVERY_HOURS * 3_600_000, run, log });
  metrics.watchAudit(AUDIT_EVERY_HOURS, audit);
  return audit;
}

function endpointsOf({ STORE, ADMIN_API, METRICS_PORT }: Config, held: readonly Holding[]): readonly Endpoint<Services>[] {
  const all = held === holdings ? api : api.map((each) => (each.operationId === 'exportAccount' ? exportAccount(held) : each));
  const served = all.filter(
    ({ sandbox, hasOwnPort }) => (sandbox !== true || STORE === 'sandbox') && (hasOwnPort !== true || METRICS_PORT === undefined),
  );
  return ADMIN_API === 'on' ? [...served, ...operatorApi] : served;
}

/** URL at which the service reaches itself: the base of the sandbox's addresses. */
function ownAddress(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
