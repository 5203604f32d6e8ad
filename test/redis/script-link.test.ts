import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ScriptLink } from '../../src/redis/script-link.ts';
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

test('each of thousands of calls gets its own reply, also while others are under way', async () => {
  let asked = 0;
  const asks = Array.from({ length: 300 }, async () => {
    // There is always an unanswered call.
    for (let turn = 0; turn < 20; turn++) {
      const word = `Zoë ${asked++}`;
      expect(await link.call('ECHO', [word])).toBe(word);
    }
  });
  await Promise.all(asks);
  const words = Array.from({ length: 5000 }, (_, index) => `word ${index}`);
  expect(await Promise.all(words.map((word) => link.call('ECHO', [word])))).toEqual(words);
});

test("a call that Redis refuses fails with Redis's own error, and the calls around it get their replies", async () => {
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
