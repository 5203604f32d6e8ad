import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KEY_SECRET } from '../../../src/features/coins/key-secret.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { freshId, signIn, start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { historyOf, signInToStore } from '../../store.ts';

let redis: Awaited<ReturnType<typeof startRedis>>;
let client: Redis;
beforeAll(async () => {
  redis = await startRedis();
  client = new Redis({ path: (redis.location as { socketPath: string }).socketPath });
});
afterAll(async () => {
  client.disconnect();
  await redis[Symbol.asyncDispose]();
});

const credit = (to: TestService, installId: string, coins: number, key: string) => to.post('/v1/coins/credit', { installId, coins, key });

test('services that start together on an empty Redis share one secret and find each other’s keys', async () => {
  await using own = await startRedis();
  const services = await Promise.all(Array.from({ length: 4 }, () => start({ redis: own.location })));
  try {
    expect(await services[0]!.service.redis.get(KEY_SECRET)).toMatch(/^[0-9a-f]{16}$/);
    const installId = freshId();
    // 90 keys: the buckets split several times.
    for (let index = 0; index < 90; index++) await credit(services[index % 4]!, installId, 1, `key-${index}`);
    for (let index = 0; index < 90; index++)
      expect((await credit(services[(index + 1) % 4]!, installId, 1, `key-${index}`)).body).toMatchObject({ replayed: true });
  } finally {
    for (const service of services) await service[Symbol.asyncDispose]();
  }
});

test('a restarted service finds earlier keys', async () => {
  const installId = freshId();
  {
    await using before = await start({ redis: redis.location });
    for (let index = 0; index < 50; index++) await credit(before, installId, 1, `key-${index}`);
  }
  await using after = await start({ redis: redis.location });
  for (let index = 0; index < 50; index++)
    expect((await credit(after, installId, 1, `key-${index}`)).body).toMatchObject({ replayed: true, balanceCoins: 50 });
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
  await expect.poll(async () => (await credit(service, installId, 5, 'a')).status, { timeout: 5000 }).toBe(200);
});

/** The key hash of versions without the secret. */
function oldHash(key: string): number {
  let hash = 0;
  for (const byte of Buffer.from(key)) hash = (hash * 31 + byte) % 65_536;
  return hash;
}

/** Writes a ledger as versions without the secret did: entries, and keys in buckets that split as they grew. */
async function writeOldLedger(accountId: string, keys: readonly string[], at: number): Promise<void> {
  const bucketOf = (hash: number, entries: number): number => {
    const count = Math.floor(entries / 20) + 1;
    const power = 2 ** Math.floor(Math.log2(count));
    const bucket = hash % (2 * power);
    return bucket >= count ? hash % power : bucket;
  };
  const pipeline = client.pipeline();
  pipeline.hset(`{${accountId}}:account`, 'createdAt', at);
  for (const [index, key] of keys.entries()) {
    const seq = index + 1;
    pipeline.rpush(`{${accountId}}:ledger`, `${seq} ${seq * 2} c2 ${(at + index).toString(36)} ${key}`);
    pipeline.hset(`{${accountId}}:keys:${bucketOf(oldHash(key), keys.length)}`, key, String(seq * 65_536 + oldHash(key)));
  }
  await pipeline.exec();
}

describe('a ledger written by a version without the key secret', () => {
  const DAY_MS = 86_400_000;
  let service: TestService;
  beforeAll(async () => void (service = await start({ redis: redis.location })));
  afterAll(() => service[Symbol.asyncDispose]());

  const keysOf = async (accountId: string): Promise<string[]> =>
    (await Promise.all((await client.keys(`{${accountId}}:keys:*`)).map((bucket) => client.hkeys(bucket)))).flat().sort();

  test.each([1, 19, 20, 21, 200])('with %i entries keeps every key through every split, old and new', async (count) => {
    const installId = freshId();
    const keys = Array.from({ length: count }, (_, index) => `old-${index}`);
    await writeOldLedger(accountIdOf(installId), keys, service.now());
    const added = Array.from({ length: 60 }, (_, index) => `new-${index}`);
    for (const [index, key] of added.entries())
      expect((await credit(service, installId, 1, key)).body).toEqual({ ok: true, balanceAfterCoins: 2 * count + index + 1 });
    for (const [index, key] of keys.entries())
      expect((await credit(service, installId, 2, key)).body).toMatchObject({ replayed: true, balanceAfterCoins: 2 * (index + 1) });
    for (const key of added) expect((await credit(service, installId, 1, key)).body).toMatchObject({ replayed: true });
    expect((await credit(service, installId, 9, keys[0]!)).body.error.code).toBe('key_reused');
    expect(await keysOf(accountIdOf(installId))).toEqual([...keys, ...added].sort());
  });

  test('loses expired entries together with their keys', async () => {
    await using keeping = await start({ redis: redis.location, settings: { LEDGER_RETENTION_DAYS: '30' } });
    const installId = freshId();
    const accountId = accountIdOf(installId);
    const keys = Array.from({ length: 50 }, (_, index) => (index % 9 === 0 ? `old-${index}`.padEnd(255, 'x') : `old-${index}`));
    await writeOldLedger(accountId, keys, keeping.now());
    for (let index = 0; index < 5; index++) await credit(keeping, installId, 1, `between-${index}`);
    keeping.advance(31 * DAY_MS);
    for (let index = 0; index < 30; index++) await credit(keeping, installId, 1, `new-${index}`);
    // Each of the 30 operations deletes two expired entries: the 50 old ones, then the 5 in between.
    expect(await keysOf(accountId)).toEqual(Array.from({ length: 30 }, (_, index) => `new-${index}`).sort());
    expect((await credit(keeping, installId, 2, keys[9]!)).body).toEqual({ ok: true, balanceAfterCoins: 137 });
  });

  test('moves with its guest: its keys are replays for the account, and its entries appear in the history', async () => {
    const [guest, moved, subject] = [freshId(), freshId(), freshId('subject')];
    await writeOldLedger(
      accountIdOf(guest),
      Array.from({ length: 30 }, (_, index) => `guest-${index}`),
      service.now() - DAY_MS,
    );
    const large = Array.from({ length: 150 }, (_, index) => `large-${index}`);
    await writeOldLedger(accountIdOf(moved), large, service.now() - 2 * DAY_MS);
    const { body, cookies } = await signInToStore(service, subject);
    // Versions without the secret wrote no mark after the count.
    await client.set(`{${body.accountId}}:moves`, `${accountIdOf(moved)} 150\n`);
    expect((await signInToStore(service, subject, { installId: guest })).body).toMatchObject({ moved: true, movedCoins: 60 });
    const asAccount = (coins: number, key: string) => service.post('/v1/coins/credit', { coins, key }, { cookies });
    for (let index = 0; index < 30; index++)
      expect((await asAccount(2, `guest-${index}`)).body).toMatchObject({ replayed: true, balanceAfterCoins: 2 * (index + 1) });
    for (let index = 0; index < 150; index += 7)
      expect((await asAccount(2, `large-${index}`)).body).toMatchObject({ replayed: true, balanceAfterCoins: 2 * (index + 1) });
    expect((await asAccount(3, 'large-7')).body.error.code).toBe('key_reused');
    const keys = (await historyOf(service, cookies, 100)).map(({ key }) => key);
    expect(keys).toHaveLength(1 + 31 + 150);
    expect(keys.slice(32)).toEqual(large.toReversed());
  });
});

test('retention deletes the keys of expired entries at every key length', async () => {
  await using keeping = await start({ redis: redis.location, settings: { LEDGER_RETENTION_DAYS: '30' } });
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
  const buckets = await client.keys(`{${accountIdOf(installId)}}:keys:*`);
  const left = (await Promise.all(buckets.map((bucket) => client.hkeys(bucket)))).flat();
  expect(left.sort()).toEqual(Array.from({ length: 20 }, (_, index) => `new ${index}`).sort());
});
