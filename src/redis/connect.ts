import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from 'pino';
import { SettingError } from '../config.ts';
import { checkRights, type Rights } from './user-rights.ts';
import { checkDataVersion } from './data/data-version.ts';
import { SILENCE_MS, UsableConnection } from './usable-connection.ts';

/** The location of Redis: the URL from the settings, or the Unix socket of the private Redis. */
export type RedisLocation = { url: string } | { socketPath: string };

/** The ioredis options of every connection of the service. `UsableConnection` decides when the next attempt to connect follows. */
export const OPTIONS = {
  connectionName: 'coinop-main',
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  socketTimeout: SILENCE_MS,
  connectTimeout: SILENCE_MS,
  // The check of `UsableConnection` replaces ioredis's own, which writes to the terminal if the user may not use INFO.
  enableReadyCheck: false,
  // After a failover the old primary is a replica and refuses writes. The next connection finds the new primary.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions;

/**
 * Opens a connection that fails fast. While Redis is down or silent, the connection refuses commands at once instead of queueing them, and
 * it never sends a command twice. The caller decides whether to retry, because only coin operations carry an idempotency key.
 */
export function connectRedis(location: RedisLocation, log: Logger): UsableConnection {
  return keepUsable(redisAt(location), { log });
}

export function redisAt(location: RedisLocation): Redis {
  return 'url' in location ? new Redis(location.url, OPTIONS) : new Redis({ ...OPTIONS, path: location.socketPath });
}

interface KeepUsableOptions {
  /** The rights that the Redis user needs. Default: the rights are not checked. */
  readonly rights?: Rights | undefined;
  readonly log: Logger;
}

/** Keeps the main connection to a Redis usable, and checks the rights of its user every few seconds. */
export function keepUsable(redis: Redis, { rights, log }: KeepUsableOptions): UsableConnection {
  const ofUser = rights === undefined ? undefined : (asked: Redis) => checkRights(asked, rights);
  return new UsableConnection(redis, { check: checkOf(rights), checkRights: ofUser, log });
}

/** The checks before a connection is used: the version of Redis, the rights of the user, the database, and the version of the data. */
export function checkOf(rights: Rights | undefined): (redis: Redis) => Promise<void> {
  return async (redis) => {
    const ofUser = rights === undefined ? undefined : checkRights(redis, rights);
    // The checks are sent together, and judged in the order of the list, because a Redis that is too old cannot tell what its user may do.
    const checks = await Promise.allSettled([checkVersion(redis), ofUser, checkDatabase(redis), checkDataVersion(redis)]);
    for (const check of checks) if (check.status === 'rejected') throw check.reason;
  };
}

/** Checks the version of Redis. @throws SettingError if it is older than 7.0 */
async function checkVersion(redis: Redis): Promise<void> {
  // If the user may not use INFO, the version stays unknown. The check of the rights then reports that this right is missing.
  const server = await redis.info('server').catch((error: Error) => {
    if (!error.message.startsWith('NOPERM')) throw error;
  });
  if (server !== undefined && isTooOld(server)) throw new SettingError('Redis 7.0 or newer is needed.');
}

function isTooOld(server: string): boolean {
  return Number(/redis_version:(\d+)/.exec(server)?.[1] ?? 0) < 7;
}

/**
 * Selects the connection's database once more, because ioredis goes on in database 0 if Redis refuses SELECT.
 * @throws SettingError if the database of REDIS_URL does not exist
 */
export async function checkDatabase(redis: Redis): Promise<void> {
  const wanted = redis.options.db ?? 0;
  if (redis.status !== 'ready' || wanted === 0) return;
  await redis.select(wanted).catch((error: Error) => {
    throw /DB index|^ERR SELECT/.test(error.message)
      ? new SettingError(`REDIS_URL names database ${wanted}, which this Redis does not let us use`)
      : error;
  });
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
  if (isTooOld(server)) return { ok: false, problem: 'redis 7.0 or newer is needed' };
  // Lua formats integers in the machine's word length, and a balance may need more than 32 bits.
  if (/^arch_bits:32/m.test(server)) return { ok: false, problem: 'a 64-bit redis is needed' };
  // A `redis://` URL reaches only one node of a Cluster, and that node refuses most keys.
  if (/^cluster_enabled:1/m.test(cluster) && !isOfCluster)
    return { ok: false, problem: 'this redis is a node of a cluster: set REDIS_URL to redis-cluster://host:port,host:port' };
  if (isOfCluster && !/^cluster_enabled:1/m.test(cluster))
    return { ok: false, problem: 'this redis is no node of a cluster: set REDIS_URL to redis://host:port' };
  if (/^role:slave/m.test(replication)) return { ok: false, problem: 'this redis is a replica' };
  const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1] ?? 'noeviction';
  if (policy !== 'noeviction') return { ok: false, problem: `maxmemory-policy ${policy} can lose coins: set noeviction` };
  return { ok: true };
}
