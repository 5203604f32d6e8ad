import type { Redis } from 'ioredis';
import { openDoors } from './apart/doors.ts';
import { SettingError, type Config } from './config.ts';
import { keySecretKind } from './features/coins/secret-keys.ts';
import type { RedisHealth } from './redis/connect.ts';
import { openConnections, type RedisConnections } from './redis/redis-connections.ts';
import { DataGuard } from './redis/data/data-guard.ts';
import { RedisClock } from './redis/redis-clock.ts';
import { neededRights } from './serving/needed-rights.ts';
import type { ScriptLink } from './redis/script-link.ts';
import { isOfDisk } from './redis/trouble.ts';
import { within } from './redis/within.ts';
import { WriteRefusals } from './redis/write-refusals.ts';
import { urlOnThisMachine } from './server/address.ts';
import { admissionOf } from './server/limit-settings.ts';
import type { Metrics } from './server/metrics.ts';
import { addProcessMetrics } from './server/process-metrics.ts';
import { addRedisMetrics } from './server/redis-metrics.ts';
import { addSettingMetrics } from './server/setting-fingerprints.ts';
import { startBackgroundWork } from './serving/background-work.ts';
import { drain } from './serving/drain.ts';
import { servicesOf, wallClockOf } from './serving/handler-services.ts';
import { serverOf } from './serving/http-server.ts';
import type { ServiceOptions } from './serving/options.ts';
import { redisFigures } from './serving/redis-figures.ts';
import { revision } from './web/revision.ts';
import { version } from './web/version.ts';
import { settingProblems, warnOfSettings } from './setting-checks.ts';

export interface Service {
  readonly port: number;
  readonly metrics: Metrics;
  /** The metrics of all workers together, in the Prometheus text format. */
  metricsText(): Promise<string>;
  readonly connections: RedisConnections;
  /** The connection to a single Redis. For tests and the bench. Do not use `redis` and `link` on a Cluster. */
  readonly redis: Redis;
  readonly link: ScriptLink;
  /** The check behind `/ready`. For tests. */
  readonly readiness: () => Promise<RedisHealth>;
  /**
   * Refuses new connections, answers the requests in flight, closes all sockets and disconnects from Redis.
   * @param quietMs the server closes once no request has been in flight for this long, in milliseconds
   */
  drain(quietMs?: number): Promise<void>;
}

/**
 * How long the start of a process waits for the secret of the ledgers, in milliseconds. An upgrade of the data may take minutes, in which
 * the service is not ready.
 */
const SECRET_WAIT_MS = 5000;

/**
 * Builds one serving process from its parts, connects it to Redis and listens.
 * @throws SettingError for bad settings, a taken port, or a database that Redis refuses
 */
export async function startService(config: Config, options: ServiceOptions): Promise<Service> {
  // The settings are checked before anything connects, so that a refused start leaves no connection or timer behind. If something fails
  // later, main.ts ends the process.
  const problems = settingProblems(config);
  if (problems.length > 0) throw new SettingError(problems.join('\n'));
  // Only the primary process warns. So each warning is logged once, and not by every worker.
  if (options.shared !== true) warnOfSettings(config, options.log);

  const doors = await openDoors(config);
  const connections = openConnections(options.redis, config.REDIS_WAIT_REPLICAS, options.log, neededRights);
  const opened = connections.opened();
  let port = config.PORT;
  const refusals = new WriteRefusals(() => connections.health(), options.log);
  const mayWrite = (): boolean => !isOfDisk(options.privateRedis?.trouble());
  const clock = new RedisClock(wallClockOf(options));
  const data = new DataGuard(connections, {
    clock,
    timeAheadMs: options.redisAheadMs,
    log: options.log,
    secret: keySecretKind,
    memory: options.dataMemory,
    accepts: config.ACCEPT_DATA,
    replicas: config.REDIS_WAIT_REPLICAS,
    mayWrite,
    opened,
  });
  const services = servicesOf(
    config,
    options,
    connections,
    data,
    {
      clock,
      failed(message) {
        refusals.refused(message);
        connections.met(message);
      },
      publish: (topic, message) => server.publish(topic, message),
      isDraining: () => server.draining,
      mayWrite,
      address: () => urlOnThisMachine(config.HOST, port),
    },
    doors,
  );
  const { keySecret, serverKeys, providerNames, metrics, metricsText, topics, readiness } = services;
  addProcessMetrics(metrics, { version, revision });
  addSettingMetrics(metrics, config);
  addRedisMetrics(metrics, {
    isUp: () => connections.isReady,
    isLost: () => data.problem !== undefined,
    figures: redisFigures(connections, options.privateRedis),
    disk: () => options.privateRedis?.disk(),
  });
  const admission = admissionOf(config, options.reservations, services.monotonic);
  const server = serverOf(config, admission, services, options, doors.sandbox?.endpoints);
  // After a loss of data the known states no longer hold. So watchers have to connect again, and are refused until an operator accepts the
  // data.
  data.on('lost', () => topics.endAll());
  await opened;
  const waitMs = Math.max(SECRET_WAIT_MS, options.redisDeadlineMs ?? 0);
  await within(waitMs, data.check(), () => {});
  // While Redis or the Cluster is unreachable, `read` returns at once, and reads the secret as soon as Redis answers again.
  await within(waitMs, Promise.all([keySecret.read(), serverKeys.read()]), () => {});
  await within(waitMs, providerNames.check(), () => {});
  port = await server.listen(config.HOST, config.PORT, options.shared ?? false);
  const background = startBackgroundWork(config, options.audit, admission, services, mayWrite);
  return {
    port,
    metrics,
    metricsText,
    connections,
    redis: connections.source as Redis,
    link: connections.scripts as ScriptLink,
    readiness,
    drain: (quietMs) => drain({ server, background, services, connections, data, refusals }, quietMs),
  };
}
