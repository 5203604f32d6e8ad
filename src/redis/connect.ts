import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { SettingError } from '../config.ts';

/** Where Redis is: a URL of yours, or the Unix socket of the private one. */
export type RedisLocation = { url: string } | { socketPath: string };

/** How long Redis may stay silent with commands outstanding before the connection is given up, in milliseconds. */
export const SILENCE_MS = 3000;

/**
 * A connection that fails fast: away or silent, it refuses at once instead of queueing, and nothing is ever sent twice.
 * Whether to try again is the caller's to say, for only coin operations carry a key that makes it harmless.
 */
export function connectRedis(location: RedisLocation, log: Logger): Redis {
  const options = {
    connectionName: 'coinop',
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    socketTimeout: SILENCE_MS,
    connectTimeout: SILENCE_MS,
    maxLoadingRetryTime: 200,
    retryStrategy: (attempt: number) => Math.min(25 * 2 ** Math.min(attempt, 5), 500),
    // A replica that was a primary a moment ago refuses writes: the next connection finds the new primary.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  };
  const redis = 'url' in location ? new Redis(location.url, options) : new Redis({ ...options, path: location.socketPath });
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
  return redis;
}

/**
 * ioredis goes on in database 0 where it cannot select another.
 * @throws SettingError where that happened
 */
export async function checkDatabase(redis: Redis): Promise<void> {
  if (redis.status !== 'ready') return;
  const wanted = redis.options.db ?? 0;
  const info = String(await redis.client('INFO'));
  if (Number(/\bdb=(\d+)/.exec(info)?.[1]) !== wanted)
    throw new SettingError(`REDIS_URL names database ${wanted}, which this Redis does not let us use`);
}

/**
 * Whether a connection that just opened may be used; one that may not is ended for good. One that broke while it was
 * asked is none of those: it is opened again, and asked again.
 */
export async function isUsable(redis: Redis, complain: (error: Error) => void): Promise<boolean> {
  try {
    await checkDatabase(redis);
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
}

/** Whether this Redis may be trusted with coins: it answers, is new enough, takes writes, and never evicts. */
export async function checkRedis(redis: Redis): Promise<RedisHealth> {
  const [server, memory, replication] = await Promise.all([redis.info('server'), redis.info('memory'), redis.info('replication')]);
  const version = Number(/redis_version:(\d+)/.exec(server)?.[1] ?? 0);
  if (version < 7) return { ok: false, problem: 'redis 7.0 or newer is needed' };
  // Lua's whole numbers are as long as its machine's, and a balance needs 40 bits.
  if (/^arch_bits:32/m.test(server)) return { ok: false, problem: 'a 64-bit redis is needed' };
  if (/^role:slave/m.test(replication)) return { ok: false, problem: 'this redis is a replica' };
  const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1] ?? 'noeviction';
  if (policy !== 'noeviction') return { ok: false, problem: `maxmemory-policy ${policy} can lose coins: set noeviction` };
  return { ok: true };
}
