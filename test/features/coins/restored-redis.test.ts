import { once } from 'node:events';
import { expect, test } from 'vitest';
import { KEY_SECRET } from '../../../src/features/coins/secret-keys.ts';
import { freshId, start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';

const credit = (to: TestService, installId: string, key: string) => to.post('/v1/coins/credit', { installId, coins: 1, key });

test('a service whose Redis was restored from other data takes the secret of that data, and warns', async () => {
  await using redis = await startRedis();
  const logLines: string[] = [];
  await using before = await start({ redis: redis.location, logLines });
  const { redis: connection } = before.service;
  await connection.flushall();
  await connection.set(KEY_SECRET, '0011223344556677');
  const back = once(connection, 'ready');
  connection.disconnect(true);
  await back;
  const warnings = () => logLines.map((line) => JSON.parse(line) as { level: number; msg: string }).filter(({ level }) => level === 40);
  await expect.poll(() => warnings().filter(({ msg }) => msg.includes('secret'))).toHaveLength(1);

  // 90 keys split the account's table of keys several times. A service that starts now must find each by the same hash.
  const installId = freshId();
  for (let index = 0; index < 90; index++) await credit(before, installId, `key-${index}`);
  await using after = await start({ redis: redis.location });
  for (let index = 0; index < 90; index++) expect((await credit(after, installId, `key-${index}`)).body).toMatchObject({ replayed: true });
  expect(await connection.get(KEY_SECRET)).toBe('0011223344556677');
});

test('services that start after Redis was emptied find the keys of a service that stayed connected', async () => {
  await using redis = await startRedis();
  await using before = await start({ redis: redis.location });
  await before.service.redis.flushall();
  const installId = freshId();
  for (let index = 0; index < 3; index++)
    await expect.poll(async () => (await credit(before, installId, `key-${index}`)).status, { timeout: 5000 }).toBe(200);
  await using after = await start({ redis: redis.location });
  for (let index = 0; index < 3; index++)
    expect((await credit(after, installId, `key-${index}`)).body).toMatchObject({ replayed: true, balanceCoins: 3 });
});
