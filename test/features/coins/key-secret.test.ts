import { once } from 'node:events';
import { expect, test } from 'vitest';
import { KEY_SECRET } from '../../../src/features/coins/secret-keys.ts';
import { freshId, start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';

const credit = (to: TestService, installId: string, coins: number, key: string) => to.post('/v1/coins/credit', { installId, coins, key });

test('services that start together on an empty Redis share one secret and find each other’s keys', async () => {
  await using own = await startRedis();
  const services = await Promise.all(Array.from({ length: 4 }, () => start({ redis: own.location })));
  expect(await services[0]!.service.redis.get(KEY_SECRET)).toMatch(/^[0-9a-f]{16}$/);
  const installId = freshId();
  for (const [index, service] of services.entries()) await credit(service, installId, 1, `key-${index}`);
  for (const index of services.keys())
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
