import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { api, channels } from './api.ts';
import { SettingError, type Config, type SessionKey } from './config.ts';
import { Catalogue } from './features/catalogue/file.ts';
import { KeySecret } from './features/coins/key-secret.ts';
import { ProofKeys } from './features/entitlement/proof-keys.ts';
import { BoardCache } from './features/highscores/board-cache.ts';
import { pairFeed } from './features/pairing/feed.ts';
import { roomFeed } from './features/rooms/feed.ts';
import { Presence } from './features/rooms/presence.ts';
import { Sandbox } from './features/sandbox/sandbox.ts';
import { googleProblems, googleSettings } from './google/from-config.ts';
import { provesInstalls } from './google/integrity.ts';
import { unfinishedMoves } from './features/store/move.ts';
import type { StoreSettings } from './google/settings.ts';
import { AppStore } from './google/app-store.ts';
import { purchaseRechecks } from './features/subscription/rechecks.ts';
import { checkDatabase, checkRedis, connectRedis, type RedisLocation } from './redis/connect.ts';
import { ScriptLink } from './redis/script-link.ts';
import { checkCaller } from './accounts/account.ts';
import { AccountScripts } from './accounts/scripts.ts';
import { Subscriber } from './redis/subscriber.ts';
import { ClientAddresses } from './server/address.ts';
import { Admission } from './server/admission.ts';
import { Connections } from './server/connections.ts';
import { Hub } from './server/live/hub.ts';
import { Metrics } from './server/metrics.ts';
import { keptFor, oneAtATime } from './server/one-at-a-time.ts';
import { Origins } from './server/identity/origin.ts';
import { OwnReservations, type ReservationBounds, type Reservations } from './server/reservations.ts';
import { Server } from './server/http/server.ts';
import { Sessions } from './server/identity/sessions.ts';
import { TokenSigner } from './server/identity/signed-token.ts';
import type { Services } from './declare.ts';

export interface ServiceOptions {
  redis: RedisLocation;
  sessionKeys: readonly SessionKey[];
  log: Logger;
  /** True: other workers of this service listen on the same port. */
  shared?: boolean;
  /** True: no other process uses this Redis. */
  isAlone?: boolean;
  /** Counts creations, misses and sockets for all workers together. Default: this process counts its own. */
  reservations?: Reservations;
  /** Milliseconds since 1970. Tests set their own clock. */
  now?: () => number;
  /** Prometheus text of all workers. Default: the metrics of this process. */
  metricsText?: () => Promise<string>;
  /** For tests: an app store in place of Google or the sandbox. */
  storeSettings?: StoreSettings;
}

export interface Service {
  readonly port: number;
  readonly metrics: Metrics;
  readonly redis: Redis;
  /** The connection that runs the scripts. */
  readonly link: ScriptLink;
  /**
   * Refuses new connections, answers the requests in flight, closes all sockets and disconnects from Redis.
   * @param quietMs how long no request may have been in flight before the server closes, in milliseconds
   */
  drain(quietMs?: number): Promise<void>;
}

/** How long a metrics text is served again. Encoding it costs 2 ms, and the endpoint is public; scrapers come every few seconds. */
const METRICS_KEPT_MS = 1000;

/** Time limit for the requests in flight at a drain. The whole stop has 25 s. */
const DRAIN_MS = 15_000;

/** Default of `quietMs`. A request that a client sent before it noticed the drain arrives within this time. */
const DRAIN_QUIET_MS = 200;

/**
 * Builds one serving process from its parts, connects it to Redis and listens.
 * @throws SettingError for bad settings, a taken port, or a database that Redis refuses
 */
export async function startService(config: Config, options: ServiceOptions): Promise<Service> {
  const { log, now = Date.now } = options;
  // Checked first: a refused start must leave no connection or timer behind.
  const problems = settingProblems(config);
  if (problems.length > 0) throw new SettingError(problems.join('\n'));
  // Of several workers none warns: their primary does, once.
  if (options.shared !== true) warnOfSettings(config, log);
  const google = config.STORE === 'google' ? googleSettings(config) : undefined;
  const catalogue = new Catalogue(config.CATALOGUE_FILE, log);
  const metrics = new Metrics();
  const redis = connectRedis(options.redis, log);
  const tokens = new TokenSigner(options.sessionKeys);
  const link = new ScriptLink(redis);
  const scripts = new AccountScripts(link, { now, observe: metrics.observeScript });
  const keySecret = new KeySecret(redis, log);
  const sessions = new Sessions(tokens, { now });
  const subscriber = new Subscriber(redis);
  const hub = new Hub({
    publish: (topic, message) => server.publish(topic, message),
    bytesPerSecond: config.ROOM_BYTES_PER_SECOND,
    subscriber,
    log,
    now,
  });
  const presence = new Presence({ redis, subscriber, scripts, config, log, now });
  let port = config.PORT;
  const sandbox = config.STORE === 'sandbox' ? new Sandbox(scripts, () => ownAddress(config.HOST, port)) : undefined;
  const settings = () => options.storeSettings ?? google ?? sandbox!.settings;
  const store = config.STORE === 'off' ? undefined : new AppStore({ settings, log, now });
  const redisHealth = oneAtATime(() => checkRedis(redis));
  const addresses = new ClientAddresses(config.TRUSTED_PROXIES);
  const admission = new Admission({
    requests: limitsOf(config, { perSecond: config.RATE_LIMIT_PER_SECOND, burst: config.RATE_LIMIT_BURST }),
    maxInFlight: config.MAX_IN_FLIGHT,
    reservations: options.reservations ?? new OwnReservations(reservationBounds(config), now),
    now,
  });
  const services: Services = {
    config,
    scripts,
    hub,
    feeds: { room: roomFeed(scripts, now), pair: pairFeed(redis, now) },
    presence,
    sessions,
    tokens,
    proofKeys: new ProofKeys(options.sessionKeys),
    catalogue,
    boards: new BoardCache(subscriber, options.isAlone ?? false),
    keySecret,
    metrics,
    store,
    sandbox,
    log,
    now,
    readiness: async () => {
      if (server.draining) return { ok: false, problem: 'draining' };
      return redis.status === 'ready' && link.isReady ? redisHealth() : { ok: false, problem: 'redis is away' };
    },
    metricsText: oneAtATime(
      keptFor(METRICS_KEPT_MS, now, async () => (await options.metricsText?.()) ?? (await metrics.registry.metrics())),
    ),
  };
  const server: Server<Services> = new Server({
    endpoints: api.filter(({ sandbox }) => sandbox !== true || config.STORE === 'sandbox'),
    channels,
    hub,
    watchersPerTopic: config.WATCHERS_PER_ROOM,
    services,
    sessions,
    checkCaller: (caller) => scripts.runAs(caller, checkCaller, {}, {}),
    metrics,
    log,
    now,
    origins: new Origins(config.ALLOWED_ORIGINS, config.PUBLIC_URL),
    secureCookies: config.production || config.PUBLIC_URL?.startsWith('https:') === true,
    addresses,
    admission,
    connections: limitsOf(
      config,
      new Connections({
        perAddress: config.CONNECTIONS_PER_ADDRESS,
        workers: config.WORKERS,
        isTrusted: (address) => addresses.isTrusted(address),
        log,
      }),
    ),
    bodiesPerAddress: config.BODIES_PER_ADDRESS,
  });
  await firstAnswer(redis);
  await checkDatabase(redis);
  if (redis.status === 'ready') await Promise.all([link.opened(), keySecret.read()]);
  port = await server.listen(config.HOST, config.PORT, options.shared ?? false);
  const queues = [unfinishedMoves(services), ...(store === undefined ? [] : [purchaseRechecks({ ...services, store })])];
  return {
    port,
    metrics,
    redis,
    link,
    async drain(quietMs = DRAIN_QUIET_MS) {
      const queuesClosed = Promise.all(queues.map((queue) => queue.close()));
      await server.drain(DRAIN_MS, quietMs);
      await queuesClosed;
      presence.close();
      keySecret.close();
      catalogue.close();
      subscriber.disconnect();
      link.disconnect();
      redis.disconnect();
    },
  };
}

/** Problems of the features' settings: a line each, the setting's name first. */
export function settingProblems(config: Config): string[] {
  const { STORE, REQUIRE_INSTALL_PROOF, CATALOGUE_FILE } = config;
  const ofGoogle = STORE === 'google' ? googleProblems(config) : [];
  const isProvable = STORE === 'sandbox' || (STORE === 'google' && ofGoogle.length === 0 && provesInstalls(googleSettings(config)));
  // A problem of Google's settings may be the reason why install proofs are missing: then only that problem is reported.
  const isUnprovable = REQUIRE_INSTALL_PROOF.length > 0 && ofGoogle.length === 0 && !isProvable;
  return [
    ...ofGoogle,
    ...(isUnprovable
      ? [
          'REQUIRE_INSTALL_PROOF needs an app store that proves installs: set GOOGLE_PACKAGE_NAMES, and both PLAY_INTEGRITY keys or GOOGLE_SERVICE_ACCOUNT_FILE',
        ]
      : []),
    ...Catalogue.problemsOf(CATALOGUE_FILE),
  ];
}

/**
 * Warns in the log of valid settings that are probably a mistake in production: the sample catalogue, the sandbox, an
 * unconfigured store.
 */
export function warnOfSettings(config: Config, log: Logger): void {
  const { production, STORE, CATALOGUE_FILE } = config;
  if (!production) return;
  if (CATALOGUE_FILE === undefined) log.warn('CATALOGUE_FILE is not set: the service serves the sample catalogue');
  if (STORE === 'sandbox') log.warn('STORE=sandbox in production: every client can sign in as any user and buy for free');
  if (STORE !== 'google') return;
  const { clientIds, packageNames, serviceAccount, ...google } = googleSettings(config);
  const missing = [
    ...(clientIds.length === 0 ? ['sign-in (GOOGLE_CLIENT_IDS)'] : []),
    ...(packageNames.length === 0 || serviceAccount === undefined ? ['purchases (GOOGLE_PACKAGE_NAMES, GOOGLE_SERVICE_ACCOUNT_FILE)'] : []),
    ...(provesInstalls({ packageNames, serviceAccount, ...google }) ? [] : ['install proofs (GOOGLE_PACKAGE_NAMES and keys)']),
  ];
  if (missing.length > 0) log.warn(`the store is not configured, and answers 503 store_unconfigured: ${missing.join(', ')}`);
}

/** URL at which the service reaches itself: the base of the sandbox's addresses. */
function ownAddress(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** Bounds on the reservations of all workers of a service together. */
export function reservationBounds(config: Config): ReservationBounds {
  const { RATE_LIMIT_CREATIONS_PER_MINUTE: creations, RATE_LIMIT_MISSES_PER_MINUTE: misses, SOCKETS_PER_ADDRESS: sockets } = config;
  return { perMinute: limitsOf(config, { creations, misses }), sockets };
}

/** The limits of a client address, or undefined with RATE_LIMIT=off. */
function limitsOf<Limits>({ RATE_LIMIT }: Config, limits: Limits): Limits | undefined {
  return RATE_LIMIT === 'off' ? undefined : limits;
}

/** Waits up to 2 s for Redis. If Redis stays away the service starts all the same, is not ready and answers 503. */
function firstAnswer(redis: Redis): Promise<void> {
  return new Promise((resolve) => {
    if (redis.status === 'ready') return resolve();
    const timer = setTimeout(resolve, 2000);
    redis.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
