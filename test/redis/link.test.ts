import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ScriptLink } from '../../src/redis/script-link.ts';
import { sleep } from '../harness.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';
import { RedisLink } from '../realtime/redis-link.ts';

let own: OwnRedis;
let way: RedisLink;
let redis: Redis;
let link: ScriptLink;

beforeEach(async () => {
  own = await startRedis();
  way = await RedisLink.open(own.location.socketPath);
  // Like the service's connection: no command waits for a reconnection, and none is sent twice.
  const options = { enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0, retryStrategy: () => 20 };
  redis = new Redis({ path: way.location.socketPath, ...options });
  redis.on('error', () => {});
  link = new ScriptLink(redis);
  await link.opened();
});

afterEach(async () => {
  link.disconnect();
  redis.disconnect();
  await way[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
});

/** Whether Redis has a client that waits in a blocking command. */
const isBlocked = async (): Promise<boolean> => /^blocked_clients:1\r$/m.test(await redis.info('clients'));

test('a link that breaks fails the commands under way, refuses new ones at once, and sends nothing again when it is back', async () => {
  const waiting = link.call('BLPOP', ['list', '0']);
  const lost = expect(waiting).rejects.toThrow('Connection is closed.');
  await expect.poll(() => isBlocked()).toBe(true);
  way.cut('commands');
  await lost;
  await expect.poll(() => link.isReady).toBe(false);
  await expect(link.call('INCR', ['count'])).rejects.toThrow(/^Stream isn't writeable/);
  way.restore();
  await expect.poll(() => link.isReady).toBe(true);
  expect(await link.call('GET', ['count'])).toBeNull();
  expect(await link.call('ECHO', ['back'])).toBe('back');
});

test('a link that is silent for 3 s with a command under way is closed and opened again', async () => {
  way.silence('commands');
  const askedAt = performance.now();
  await expect(link.call('ECHO', ['x'])).rejects.toThrow('Connection is closed.');
  const took = performance.now() - askedAt;
  expect(took).toBeGreaterThan(2900);
  expect(took).toBeLessThan(4000);
  await expect.poll(() => link.isReady).toBe(true);
  expect(await link.call('ECHO', ['x'])).toBe('x');
});

test('a link to a peer that never answers is closed after 3 s and opened again', async () => {
  way.cut('commands');
  way.restore();
  way.mute('commands');
  await expect.poll(() => link.isReady).toBe(false);
  // A silent connection is not ready, and must not become ready in this time.
  await sleep(500);
  expect(link.isReady).toBe(false);
  way.restore();
  // Only the link's own check notices the dead connection.
  await expect.poll(() => link.isReady).toBe(true);
  expect(await link.call('ECHO', ['back'])).toBe('back');
});
