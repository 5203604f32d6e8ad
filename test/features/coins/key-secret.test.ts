import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { KEY_SECRET } from '../../../src/features/coins/secret-keys.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { freshId, signIn, start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { historyOf } from '../../store.ts';

const credit = (to: TestService, installId: string, coins: number, key: string) => to.post('/v1/coins/credit', { installId, coins, key });

test('services that start together on an empty Redis share one secret and find each other’s keys', async () => {
  await using own = await startRedis();
  const services = await Promise.all(Array.from({ length: 4 }, () => start({ redis: own.location })));
  expect(await services[0]!.service.redis.get(KEY_SECRET)).toMatch(/^[0-9a-f]{16}$/);
  const installId = freshId();
  // 90 keys: the buckets split several times.
  for (let index = 0; index < 90; index++) await credit(services[index % 4]!, installId, 1, `key-${index}`);
  for (let index = 0; index < 90; index++)
    expect((await credit(services[(index + 1) % 4]!, installId, 1, `key-${index}`)).body).toMatchObject({ replayed: true });
  for (const service of services) await service[Symbol.asyncDispose]();
});

test('the service writes the same secret again when Redis has lost it', async () => {
  await using own = await startRedis();
  await using service = await start({ redis: own.location });
  const secret = await service.service.redis.get(KEY_SECRET);
  await service.service.redis.del(KEY_SECRET);
  const back = once(service.service.redis, 'ready');
  service.service.redis.disconnect(true);
  await back;
  await expect.poll(() => service.service.redis.get(KEY_SECRET)).toBe(secret);
});

test('a service makes no new secret for data that has lost its secret', async () => {
  await using own = await startRedis();
  const installId = freshId();
  let secret: string | null;
  {
    await using before = await start({ redis: own.location });
    expect((await credit(before, installId, 5, 'a')).status).toBe(200);
    secret = await before.service.redis.get(KEY_SECRET);
    await before.service.redis.del(KEY_SECRET);
  }
  const logLines: string[] = [];
  await using after = await start({ redis: own.location, logLines });
  expect((await credit(after, installId, 5, 'a')).body.error).toMatchObject({ code: 'store_unavailable' });
  expect(logLines.filter((line) => line.includes('restore it from a backup'))).toHaveLength(1);
  await after.service.redis.set(KEY_SECRET, secret!);
  await expect.poll(async () => (await credit(after, installId, 5, 'a')).body.replayed).toBe(true);
});

test('coin operations answer store_unavailable while the secret is unreadable', async () => {
  await using own = await startRedis();
  {
    await using first = await start({ redis: own.location });
    await first.service.redis.set(KEY_SECRET, 'no secret');
  }
  await using service = await start({ redis: own.location });
  const installId = freshId();
  // With a wrong secret the service would search the wrong bucket and apply a used key again.
  const { status, body } = await credit(service, installId, 5, 'a');
  expect([status, body.error.code]).toEqual([503, 'store_unavailable']);
  expect((await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(0);
  await service.service.redis.set(KEY_SECRET, '0011223344556677');
  await expect.poll(async () => (await credit(service, installId, 5, 'a')).status).toBe(200);
});

test('retention deletes the keys of expired entries at every key length', async () => {
  await using keeping = await start({ settings: { LEDGER_RETENTION_DAYS: '30' } });
  const { redis: client } = keeping.service;
  const installId = freshId();
  const keys = Array.from({ length: 40 }, (_, index) =>
    randomBytes(128)
      .toString('hex')
      .slice(0, index < 32 ? index + 1 : 223 + index - 32),
  );
  for (const key of keys) await credit(keeping, installId, 1, key);
  keeping.advance(31 * 86_400_000);
  for (let index = 0; index < 20; index++) await credit(keeping, installId, 1, `new ${index}`);
  const cookies = await signIn(keeping, installId);
  expect(await historyOf(keeping, cookies, 100)).toHaveLength(20);
  // The index names the entries that are left: 41 to 60.
  const buckets = await client.keys(`${coinKeys.index(accountIdOf(installId))}*`);
  const left = (await Promise.all(buckets.map((bucket) => client.hvals(bucket)))).flat();
  expect(left.map(Number).sort((one, other) => one - other)).toEqual(Array.from({ length: 20 }, (_, index) => 41 + index));
});
