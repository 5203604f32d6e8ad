import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import { pino, type Logger } from 'pino';
import { auditInChild } from './commands/audit-child.ts';
import { parseSessionKeys, readConfig, SettingError, type Config } from './config.ts';
import type { RedisLocation } from './redis/connect.ts';
import { PrivateRedis } from './process/private-redis.ts';
import { privateRedisFigures } from './process/private-redis-figures.ts';
import { RedisFailures } from './process/redis-failures.ts';
import { holdDataDir, prepareDataDir } from './process/data-dir.ts';
import { holdName } from './process/lock.ts';
import { openMetricsPort, type MetricsPort } from './process/metrics-port.ts';
import { DataIdFile } from './process/data-id-file.ts';
import { finishRestore } from './process/restored-data.ts';
import { loadSessionKeys } from './process/session-keys.ts';
import { startService } from './service.ts';
import type { ServiceOptions } from './serving/options.ts';
import { servedHosts } from './server/identity/served-hosts.ts';
import { METRICS_KEPT_MS } from './server/metrics.ts';
import { monotonic } from './server/monotonic.ts';
import { keptFor } from './server/shared-call.ts';
import { reservationBounds } from './server/limit-settings.ts';
import { boundReceiveBuffer } from './server/receive-buffer.ts';
import { settingProblems, warnOfSettings } from './setting-checks.ts';
import { revision } from './web/revision.ts';
import { version } from './web/version.ts';
import { onStop } from './process/stop.ts';
import { PrimaryConnection } from './process/primary-connection.ts';
import { reservePort, WorkerPool } from './process/worker-pool.ts';

/** The life of the process: settings → Redis → listen → drain. */
async function main(): Promise<void> {
  // A worker has the same environment as the primary process, which has already checked the settings.
  const config = cluster.isWorker ? readConfig(process.env) : readConfig(process.env, settingProblems, prepareDataDir);
  const log = pino({ level: config.LOG_LEVEL, base: { pid: process.pid } }, pino.destination({ dest: 2, sync: true }));
  if (cluster.isWorker) return runWorker(config, log);

  await holdPort(config);
  const privateRedis = config.REDIS_URL === undefined ? await startPrivateRedis(config, log) : undefined;
  const redis: RedisLocation = privateRedis === undefined ? { url: config.REDIS_URL! } : { socketPath: privateRedis.socketPath };

  let port: number;
  let stop: () => Promise<void>;
  let metricsPort: MetricsPort | undefined;
  // Until the service has started, a scrape of the metrics gets 503.
  let metricsText = (): Promise<string | undefined> => Promise.resolve(undefined);
  try {
    const { METRICS_HOST, METRICS_PORT } = config;
    if (METRICS_PORT !== undefined)
      metricsPort = await openMetricsPort({ METRICS_HOST, METRICS_PORT }, () => metricsText(), log, servedHosts(METRICS_HOST, config));
    // The session keys are read only now, because `finishRestore` may have just put other keys in place.
    const sessionKeys = loadSessionKeys(config);
    if (config.WORKERS === 1) {
      const service = await startService(config, {
        redis,
        sessionKeys,
        log,
        dataMemory: new DataIdFile(config.DATA_DIR, log),
        audit: auditInChild,
        isAlone: privateRedis !== undefined,
        ...privateRedisOf(config),
      });
      port = service.port;
      await boundBuffers(port, log);
      metricsText = () => service.metricsText();
      stop = () => service.drain();
    } else {
      warnOfSettings(config, log);
      port = await reservePort(config.HOST, config.PORT);
      const keys = sessionKeys.map(({ kid, secret }) => `${kid}:${secret.toString('base64url')}`).join(',');
      const pool = new WorkerPool({ redis, sessionKeys: keys, port }, reservationBounds(config), log);
      await pool.start(config.WORKERS);
      metricsText = keptFor(METRICS_KEPT_MS, monotonic, () => pool.metricsText());
      stop = () => pool.stop();
    }
  } catch (error) {
    metricsPort?.close();
    await privateRedis?.stop();
    throw error;
  }
  onStop(log, async () => {
    await stop();
    metricsPort?.close();
    await privateRedis?.stop();
  });
  const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST;
  console.log(`coinop listening on http://${host}:${port} (${version}, revision ${revision})`);
}

async function runWorker(config: Config, log: Logger): Promise<void> {
  const primary = new PrimaryConnection();
  const settings = await primary.settings();
  const service = await startService(
    { ...config, PORT: settings.port },
    {
      redis: settings.redis,
      sessionKeys: parseSessionKeys(settings.sessionKeys),
      log,
      dataMemory: new DataIdFile(config.DATA_DIR, log),
      audit: auditInChild,
      shared: true,
      ...privateRedisOf(config),
      reservations: primary,
      metricsText: () => primary.metricsText(),
    },
  );
  onStop(log, () => service.drain());
  await boundBuffers(settings.port, log);
  // The primary process restarts a private Redis that dies. Without the primary process nothing would restart Redis, so the worker stops.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  primary.listening(() => service.metrics.registry.getMetricsAsJSON());
}

/** Locks the port. uWS listens with SO_REUSEPORT: without the lock two services on one port would both start, and share its connections. */
async function holdPort({ HOST, PORT }: Config): Promise<void> {
  if (PORT !== 0 && (await holdName(`coinop:port:${HOST}:${PORT}`)) === undefined) {
    throw new SettingError(`PORT ${PORT} on ${HOST} is taken: another coinop listens there.`);
  }
}

function privateRedisOf({ REDIS_URL, DATA_DIR }: Config): Pick<ServiceOptions, 'privateRedis'> {
  return REDIS_URL === undefined ? { privateRedis: privateRedisFigures(DATA_DIR) } : {};
}

async function startPrivateRedis(config: Config, log: Logger): Promise<PrivateRedis> {
  const { folder, isHeld } = await holdDataDir(config);
  if (!isHeld) {
    throw new SettingError(`DATA_DIR ${folder} is in use: another coinop keeps its data there.`);
  }
  if (finishRestore(folder)) log.warn({ folder }, 'finished a restore that was cut off');
  const record = new RedisFailures(folder);
  record.reserve();
  const privateRedis = new PrivateRedis(folder, log, [], record);
  await privateRedis.start();
  return privateRedis;
}

/**
 * Limits the receive buffers of connections. Must be called before the service is announced, because connections inherit the limit from the
 * listening socket.
 */
async function boundBuffers(port: number, log: Logger): Promise<void> {
  const reason = await boundReceiveBuffer(port);
  if (reason !== undefined) log.warn({ reason }, 'could not bound the receive buffers: a fast client may hold the others up');
}

/**
 * With this flag V8 collects young objects only in the main thread. Hardly any young objects survive, so helper threads would save no work.
 * With helper threads the main thread waits until each of them has had its turn on a core. On two busy cores this takes 5 to 10 ms in the
 * median instead of 1 to 2 (docs/bench.md, the tail).
 */
setFlagsFromString('--no-parallel-scavenge');

try {
  await main();
} catch (error) {
  // A SettingError is for the operator, and its message is enough. Any other error is a defect and needs its stack trace.
  console.error(error instanceof SettingError ? error.message.replace(/^/gm, 'coinop: ') : error);
  process.exit(1);
}
