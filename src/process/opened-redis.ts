import { realpathSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { readConfig, SettingError, type Config } from '../config.ts';
import { clusterSeedsOf, isClusterUrl } from '../redis/cluster-url.ts';
import { Cluster } from '../redis/cluster-client.ts';
import { connectRedis, type RedisLocation } from '../redis/connect.ts';
import { checkDataAtStart, checkDataVersion, DATA_VERSION_KEY } from '../redis/data/data-version.ts';
import { nameOf, type NodeOptions } from '../redis/shard.ts';
import { slotOf, SLOTS } from '../redis/slots.ts';
import { Failure } from './command.ts';
import { holdDataDir } from './data-dir.ts';
import { PrivateRedis } from './private-redis.ts';
import { finishRestore, hasData } from './restored-data.ts';

/** How long a Redis may take to accept a connection, in milliseconds. */
const CONNECT_MS = 2000;

/**
 * How long a Redis that accepts connections may take to load its data, in milliseconds. A starting service may take as long to start its
 * private Redis.
 */
const LOADING_MS = 60_000;

/**
 * How long a Cluster that answers may take until every slot has a primary, in milliseconds. It takes that long while a failover is in
 * progress.
 */
const FAILOVER_MS = 10_000;

/** A Redis or a Cluster on which a command of the operator works, whether or not a service is running. */
export interface OpenedRedis {
  readonly location: RedisLocation;
  /** The Redis or the Cluster that the command reads. */
  readonly source: { readonly redis: Redis } | { readonly cluster: Cluster; readonly options: NodeOptions };
  /** Whether the command started this Redis itself, so that no service uses it. */
  readonly isOwn: boolean;
  /** The reason why a part of a Cluster cannot be reached. Undefined: every part can be reached. */
  readonly degraded?: string | undefined;
  close(): Promise<void>;
}

export interface OpenOptions {
  /**
   * `serve`: the command works even on a Cluster of which some slots have no primary. `be whole`: every slot needs a primary. Default: `be
   * whole`.
   */
  readonly clusterMust?: 'be whole' | 'serve';
  /** Further arguments for a private Redis that this process starts. */
  readonly settings?: readonly string[];
}

/** Reads the settings that name the place of the data. Other settings may be missing in the environment of a command. */
export function readPlace(): Config {
  const { REDIS_URL, REDIS_URL_FILE, DATA_DIR } = process.env;
  return readConfig({ REDIS_URL, REDIS_URL_FILE, DATA_DIR });
}

/** Like `readPlace`, but for a command that works on the private Redis only. @param act names the purpose in the error: `back it up` */
export function readPrivatePlace(act: string): Config {
  const config = readPlace();
  if (config.REDIS_URL === undefined) return config;
  throw new Failure(
    `REDIS_URL names a Redis of your own: ${act} with its own means (docs/backup.md). This command is for the private Redis.`,
  );
}

/**
 * Opens the Redis or the Cluster of REDIS_URL, or the private Redis of DATA_DIR. If a service runs on DATA_DIR, the command connects to the
 * service's Redis. If not, this process locks DATA_DIR and starts a Redis on its data until `close`.
 * @throws SettingError if no Redis answers, or if there is no data
 */
export async function openRedis(
  config: Config,
  log: Logger,
  { clusterMust = 'be whole', settings = [] }: OpenOptions = {},
): Promise<OpenedRedis> {
  if (config.REDIS_URL !== undefined) {
    if (isClusterUrl(config.REDIS_URL)) return openCluster(config.REDIS_URL, clusterMust, log);
    const location = { url: config.REDIS_URL };
    const redis = await answering(location, `REDIS_URL (${new URL(config.REDIS_URL).host})`, log);
    return { location, source: { redis }, isOwn: false, close: async () => redis.disconnect() };
  }
  return openPrivateRedis(config, log, settings);
}

/** A private Redis on which a command works. */
export interface OpenedPrivateRedis extends OpenedRedis {
  readonly source: { readonly redis: Redis };
}

/** Like `openRedis`, but only for the private Redis of DATA_DIR. @param settings further arguments for a Redis that this process starts */
export async function openPrivateRedis(
  config: Pick<Config, 'DATA_DIR'>,
  log: Logger,
  settings: readonly string[] = [],
): Promise<OpenedPrivateRedis> {
  const { DATA_DIR } = config;
  if (!hasData(DATA_DIR)) throw new SettingError(`DATA_DIR ${DATA_DIR} holds no data of a private Redis.`);
  const name = `the private Redis in ${DATA_DIR}`;
  const privateRedis = new PrivateRedis(realpathSync(DATA_DIR), log, settings);
  const location = { socketPath: privateRedis.socketPath };
  // Tries the socket first, because a command in another container with the same volume does not see the lock of the service. Then tries
  // the lock, because a starting or stopping service has the lock while no Redis runs.
  const giveUpAt = performance.now() + LOADING_MS;
  let isOwn = false;
  while (!(await isListening(location.socketPath)) && !(isOwn = (await holdDataDir(config)).isHeld) && performance.now() < giveUpAt)
    await pause(50);
  if (!isOwn) {
    const redis = await answering(location, name, log);
    return { location, source: { redis }, isOwn, close: async () => redis.disconnect() };
  }
  finishRestore(realpathSync(DATA_DIR));
  await privateRedis.start();
  try {
    const redis = await answering(location, name, log);
    return {
      location,
      source: { redis },
      isOwn,
      async close() {
        redis.disconnect();
        await privateRedis.stop();
      },
    };
  } catch (error) {
    await privateRedis.stop();
    throw error;
  }
}

/**
 * @throws SettingError if no primary of the Cluster answers, if any primary does not answer although `must` is `be whole`, or if the data
 * is newer than this coinop
 */
async function openCluster(url: string, must: 'be whole' | 'serve', log: Logger): Promise<OpenedRedis> {
  const { seeds, options } = clusterSeedsOf(url);
  const cluster = new Cluster(seeds, options, 0, log);
  let degraded: string | undefined;
  try {
    const startedAt = performance.now();
    const giveUpAt = (): number => startedAt + (cluster.shards.length === 0 || must === 'serve' ? CONNECT_MS : FAILOVER_MS);
    while (!isWhole(cluster) && performance.now() < giveUpAt()) await pause(20);
    if (!isWhole(cluster)) {
      const health = await cluster.health();
      degraded = (health.problem ?? (health.degraded ?? []).join('; ')).replace(/\.$/, '');
      if (!health.ok || must === 'be whole')
        throw new SettingError(`REDIS_URL (${seeds.map(nameOf).join(',')}) cannot be read: ${degraded}.`);
    }
    const versioned = cluster.shardOf(slotOf(DATA_VERSION_KEY))?.redis;
    if (versioned?.status === 'ready') await checkDataVersion(versioned);
  } catch (error) {
    cluster.disconnect();
    throw error;
  }
  return { location: { url }, source: { cluster, options }, isOwn: false, degraded, close: async () => cluster.disconnect() };
}

function isWhole(cluster: Cluster): boolean {
  for (let slot = 0; slot < SLOTS; slot++) if (cluster.shardOf(slot)?.redis.status !== 'ready') return false;
  return true;
}

/** Whether a Redis listens on a Unix socket. */
export function isListening(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath, () => resolve(true));
    // EACCES: the Redis of another user listens on the socket. `answering` then fails with this reason.
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EACCES'));
    socket.once('connect', () => socket.destroy());
  });
}

/**
 * Connects to a Redis, and checks that this coinop can read its data.
 * @throws SettingError with the reason if Redis does not answer in time, or if its data cannot be read
 */
export async function answering(location: RedisLocation, name: string, log: Logger): Promise<Redis> {
  const connection = connectRedis(location, log);
  const { redis } = connection;
  let giveUpAt = performance.now() + CONNECT_MS;
  redis.once('connect', () => (giveUpAt = performance.now() + LOADING_MS));
  const isRefused = (): boolean => /^(?!LOADING)[A-Z]{3,} /.test(connection.failure?.message ?? '');
  const unreadable = (reason: string): SettingError => new SettingError(`${name} cannot be read: ${reason.replace(/\.$/, '')}.`);
  try {
    while (!connection.isUsable && performance.now() < giveUpAt && !isRefused()) {
      connection.throwIfSetting();
      await pause(20);
    }
    if (!connection.isUsable) throw unreadable(connection.failure?.message ?? 'it does not answer');
    await checkDataAtStart(redis);
    if (/^cluster_enabled:1/m.test(await redis.info('cluster')))
      throw new SettingError(`${name} is a node of a cluster: set REDIS_URL to redis-cluster://host:port,host:port.`);
    const replication = await redis.info('replication');
    if (/^role:slave/m.test(replication) && !/^master_link_status:up/m.test(replication))
      throw new SettingError(`${name} is a replica without a link to its primary: it may have old data or none.`);
    return redis;
  } catch (error) {
    redis.disconnect();
    throw (error as Error).message.startsWith('NOPERM') ? unreadable((error as Error).message) : error;
  }
}
