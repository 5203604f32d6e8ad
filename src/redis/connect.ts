import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from 'pino';
import { SettingError } from '../config.ts';
import { checkDataVersion } from './data-version.ts';

/** Where Redis is: the URL from the settings, or the Unix socket of the private Redis. */
export type RedisLocation = { url: string } | { socketPath: string };

/** Milliseconds that Redis may stay silent with commands outstanding before the connection is closed. */
export const SILENCE_MS = 3000;

/**
 * A connection that fails fast. While Redis is down or silent, it refuses commands at once instead of queueing them, and it
 * never sends a command twice. The caller decides on a retry, because only coin operations carry an idempotency key.
 */
export function connectRedis(location: RedisLocation, log: Logger): Redis {
  const redis = 'url' in location ? new Redis(location.url, OPTIONS) : new Redis({ ...OPTIONS, path: location.socketPath });
  logOutages(redis, log);
  return redis;
}

/** How every connection of the service behaves. */
export const OPTIONS = {
  connectionName: 'coinop-main',
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  socketTimeout: SILENCE_MS,
  connectTimeout: SILENCE_MS,
  maxLoadingRetryTime: 200,
  retryStrategy: (attempt: number) => Math.min(25 * 2 ** Math.min(attempt, 5), 500),
  // After a failover the old primary is a replica and refuses writes. The next connection finds the new primary.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions;

/** Logs the beginning and the end of each outage, and why a connection cannot be used. */
export function logOutages(redis: Redis, log: Logger): void {
  let away = false;
  redis.on('error', (error: Error) => {
    if (!away) log.warn({ reason: error.message }, 'redis is away');
    away = true;
  });
  redis.on('ready', () => {
    void isUsable(redis, (error) => log.error({ reason: error.message }, 'redis cannot be used'));
    if (away) log.info('redis is back');
    away = false;
  });
}

/**
 * Checks the connection's database, because ioredis goes on in database 0 if SELECT fails.
 * @throws SettingError if the connection is in another database than configured
 */
export async function checkDatabase(redis: Redis): Promise<void> {
  if (redis.status !== 'ready') return;
  const wanted = redis.options.db ?? 0;
  const info = String(await redis.client('INFO'));
  if (Number(/\bdb=(\d+)/.exec(info)?.[1]) !== wanted)
    throw new SettingError(`REDIS_URL names database ${wanted}, which this Redis does not let us use`);
}

/**
 * Whether a new connection may be used. A connection that fails the check is closed and not reopened. If Redis closes the
 * connection during the check, ioredis reconnects and the check runs again.
 */
export async function isUsable(redis: Redis, complain: (error: Error) => void): Promise<boolean> {
  try {
    await checkDatabase(redis);
    await checkDataVersion(redis);
    return redis.status === 'ready';
  } catch (error) {
    if (redis.status !== 'ready') return false;
    complain(error as Error);
    redis.disconnect();
    return false;
  }
}

export interface RedisHealth {
  ok: boolean;
  problem?: string;
  /** Problems of a Cluster that serves only some slots, one line each. */
  degraded?: string[];
}

/**
 * Whether coins are safe in this Redis: it answers, is version 7.0 or newer and 64-bit, takes writes, never evicts keys, and is a node
 * of a Cluster exactly if REDIS_URL says so.
 */
export async function checkRedis(redis: Redis, isOfCluster = false): Promise<RedisHealth> {
  const sections = (['server', 'memory', 'replication', 'cluster'] as const).map((section) => redis.info(section));
  const [server = '', memory = '', replication = '', cluster = ''] = await Promise.all(sections);
  const version = Number(/redis_version:(\d+)/.exec(server)?.[1] ?? 0);
  if (version < 7) return { ok: false, problem: 'redis 7.0 or newer is needed' };
  // Lua formats integers in the machine's word length, and a balance needs 40 bits.
  if (/^arch_bits:32/m.test(server)) return { ok: false, problem: 'a 64-bit redis is needed' };
  // A plain URL names only one node of a Cluster, and that node refuses most keys.
  if (/^cluster_enabled:1/m.test(cluster) && !isOfCluster)
    return { ok: false, problem: 'this redis is a node of a cluster: set REDIS_URL to redis-cluster://host:port,host:port' };
  if (isOfCluster && !/^cluster_enabled:1/m.test(cluster))
    return { ok: false, problem: 'this redis is no node of a cluster: set REDIS_URL to redis://host:port' };
  if (/^role:slave/m.test(replication)) return { ok: false, problem: 'this redis is a replica' };
  const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1] ?? 'noeviction';
  if (policy !== 'noeviction') return { ok: false, problem: `maxmemory-policy ${policy} can lose coins: set noeviction` };
  return { ok: true };
}
