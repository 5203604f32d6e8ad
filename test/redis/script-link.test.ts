import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isUsable } from '../../src/redis/connect.ts';
import { ScriptLink } from '../../src/redis/script-link.ts';
import { settled } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { RedisLink } from '../realtime/redis-link.ts';

let own: Awaited<ReturnType<typeof startRedis>>;
let way: RedisLink;
let redis: Redis;
let link: ScriptLink;

beforeEach(async () => {
  own = await startRedis();
  way = await RedisLink.open((own.location as { socketPath: string }).socketPath);
  // As the service's own: nothing waits for a return, and nothing is sent twice.
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

test('each of thousands gets its own reply, those who ask while others wait too', async () => {
  let asked = 0;
  const asks = Array.from({ length: 300 }, async () => {
    // Never a moment in which nobody waits.
    for (let turn = 0; turn < 20; turn++) {
      const word = `Zoë ${asked++}`;
      expect(await link.call('ECHO', [word])).toBe(word);
    }
  });
  await Promise.all(asks);
  const words = Array.from({ length: 5000 }, (_, index) => `word ${index}`);
  expect(await Promise.all(words.map((word) => link.call('ECHO', [word])))).toEqual(words);
});

test("an error is Redis's own, and harms nobody else's reply", async () => {
  const [before, wrong, after] = await Promise.allSettled([
    link.call('ECHO', ['a']),
    link.call('LPUSH', ['only']),
    link.call('ECHO', ['b']),
  ]);
  expect([before, after]).toEqual([
    { status: 'fulfilled', value: 'a' },
    { status: 'fulfilled', value: 'b' },
  ]);
  expect((wrong as PromiseRejectedResult).reason.message).toMatch(/^ERR wrong number of arguments/);
});

test('cut, who waits is told so, who asks is refused at once, and nothing is sent again when it is back', async () => {
  const waiting = link.call('BLPOP', ['list', '0']);
  const lost = expect(waiting).rejects.toThrow('Connection is closed.');
  await settled(50);
  way.cut('commands');
  await lost;
  await expect.poll(() => link.isReady).toBe(false);
  await expect(link.call('INCR', ['count'])).rejects.toThrow(/^Stream isn't writeable/);
  way.restore();
  await expect.poll(() => link.isReady, { timeout: 5000 }).toBe(true);
  expect(await link.call('GET', ['count'])).toBeNull();
  expect(await link.call('ECHO', ['back'])).toBe('back');
});

test('silent for three seconds with somebody waiting, it is given up and opened again', async () => {
  way.silence('commands');
  const askedAt = performance.now();
  await expect(link.call('ECHO', ['x'])).rejects.toThrow('Connection is closed.');
  const took = performance.now() - askedAt;
  expect(took).toBeGreaterThan(2900);
  expect(took).toBeLessThan(4000);
  await expect.poll(() => link.isReady, { timeout: 5000 }).toBe(true);
  expect(await link.call('ECHO', ['x'])).toBe('x');
});

test('cut while it is asked whether it may be used, it is no complaint, and opened again', async () => {
  const complaints: Error[] = [];
  await expect.poll(() => redis.status).toBe('ready');
  const asked = isUsable(redis, (error) => void complaints.push(error));
  way.cut('commands');
  expect(await asked).toBe(false);
  way.restore();
  await expect.poll(() => redis.status, { timeout: 5000 }).toBe('ready');
  expect(complaints).toEqual([]);
  expect(await isUsable(redis, (error) => void complaints.push(error))).toBe(true);
});

test('connected to somebody who never says anything, it tries again', async () => {
  way.cut('commands');
  way.restore();
  way.mute('commands');
  await expect.poll(() => link.isReady).toBe(false);
  await settled(500);
  expect(link.isReady).toBe(false);
  way.restore();
  // Nothing but its own watch tells that the connection it has is dead.
  await expect.poll(() => link.isReady, { timeout: 6000 }).toBe(true);
  expect(await link.call('ECHO', ['back'])).toBe('back');
});
