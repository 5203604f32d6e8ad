import { existsSync, realpathSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { SettingError, type Config } from '../config.ts';
import { checkDatabase, connectRedis, type RedisLocation } from '../redis/connect.ts';
import { checkDataVersion } from '../redis/data-version.ts';
import { holdDataDir } from './data-dir.ts';
import { PrivateRedis } from './private-redis.ts';

/** How long a Redis may take until it accepts a connection. */
const CONNECT_MS = 2000;

/** How long a Redis that accepts connections may take to load its data, and a service that starts to start its Redis. */
const LOADING_MS = 60_000;

/** The Redis that an audit reads. */
export interface AuditedRedis {
  readonly redis: Redis;
  /** The audit started this Redis itself: no service uses it. */
  readonly isOwn: boolean;
  close(): Promise<void>;
}

/**
 * Opens the Redis of REDIS_URL, or the private Redis of DATA_DIR. If a service runs on DATA_DIR, it is the service's Redis. If
 * not, this process locks DATA_DIR and starts a Redis on its data until `close`.
 * @throws SettingError if there is no Redis that answers, or no data
 */
export async function openAuditedRedis(config: Config, log: Logger): Promise<AuditedRedis> {
  if (config.REDIS_URL !== undefined) {
    const redis = await answering({ url: config.REDIS_URL }, `REDIS_URL (${new URL(config.REDIS_URL).host})`, log);
    return { redis, isOwn: false, close: async () => redis.disconnect() };
  }
  const { DATA_DIR } = config;
  if (!existsSync(join(DATA_DIR, 'redis'))) throw new SettingError(`DATA_DIR ${DATA_DIR} holds no data of a private Redis.`);
  const name = `the private Redis in ${DATA_DIR}`;
  const privateRedis = new PrivateRedis(realpathSync(DATA_DIR), log, [
    // The audit writes nothing, so it needs no rewrite of the append-only file either.
    '--auto-aof-rewrite-percentage',
    '0',
  ]);
  const location = { socketPath: privateRedis.socketPath };
  // The socket first, then the lock: a container with the same volume does not see the lock of another container's service. A
  // service that starts or stops holds the lock, and has no Redis yet or any more.
  const giveUpAt = performance.now() + LOADING_MS;
  let isOwn = false;
  while (!(await isListening(location.socketPath)) && !(isOwn = (await holdDataDir(config)).isHeld) && performance.now() < giveUpAt)
    await pause(50);
  if (!isOwn) {
    const redis = await answering(location, name, log);
    return { redis, isOwn, close: async () => redis.disconnect() };
  }
  await privateRedis.start();
  try {
    const redis = await answering(location, name, log);
    return {
      redis,
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

function isListening(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath, () => resolve(true));
    // EACCES: another user's Redis. The connection of the audit then fails with this reason.
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EACCES'));
    socket.once('connect', () => socket.destroy());
  });
}

/** @throws SettingError with the reason if Redis does not answer in time */
async function answering(location: RedisLocation, name: string, log: Logger): Promise<Redis> {
  const redis = connectRedis(location, log);
  let reason = 'it does not answer';
  let giveUpAt = performance.now() + CONNECT_MS;
  let versionChecked: Promise<void> | undefined;
  // Asked first of all: connectRedis closes a connection to data of a newer version.
  redis.once('ready', () => {
    versionChecked = checkDataVersion(redis);
    versionChecked.catch(() => {});
  });
  redis.on('error', (error: Error) => (reason = error.message));
  redis.once('connect', () => (giveUpAt = performance.now() + LOADING_MS));
  // A Redis that refuses the password accepts the connection, and never becomes ready.
  const isRefused = (): boolean => /^(NOAUTH|WRONGPASS|NOPERM)/.test(reason);
  while (versionChecked === undefined && performance.now() < giveUpAt && !isRefused()) await pause(20);
  try {
    if (versionChecked === undefined) throw new SettingError(`${name} cannot be read: ${reason.replace(/\.$/, '')}.`);
    await versionChecked;
    await checkDatabase(redis);
    const replication = await redis.info('replication');
    if (/^role:slave/m.test(replication) && !/^master_link_status:up/m.test(replication))
      throw new SettingError(`${name} is a replica without a link to its primary: it may have old data or none.`);
    return redis;
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}
