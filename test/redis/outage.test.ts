import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PrivateRedis } from '../../src/process/private-redis.ts';
import { freshId, settled, signIn, start, type TestService } from '../harness.ts';

let folder: string;
let redis: PrivateRedis;
let service: TestService;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-outage-'));
  redis = new PrivateRedis(folder, pino({ level: 'silent' }));
  await redis.start();
  service = await start({ redis: { socketPath: redis.socketPath } });
});

afterEach(async () => {
  await service[Symbol.asyncDispose]();
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

const credit = (installId: string, key: string) => service.post('/v1/coins/credit', { installId, coins: 1, key });

/** Calls until it is true, for 10 s at the most. */
async function eventually(condition: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + 10_000;
  while (!(await condition())) {
    if (Date.now() > giveUpAt) throw new Error('did not come true within 10 s');
    await settled(25);
  }
}

test('redis killed in the middle of 1,000 credits: each acknowledged one is there once, each retried one is there once', async () => {
  const installId = freshId();
  const keys = Array.from({ length: 1000 }, (_, index) => `key-${index}`);
  const acknowledged = new Set<string>();
  let unknown = 0;
  let killed = false;
  const queue = [...keys];
  const worker = async (): Promise<void> => {
    for (let key = queue.pop(); key !== undefined; key = queue.pop()) {
      // As a client would: the same key again until it is acknowledged.
      for (;;) {
        const { status, body } = await credit(installId, key);
        if (status === 200) {
          acknowledged.add(key);
          break;
        }
        expect([status, body.error.code]).toEqual([503, 'store_unavailable']);
        if (body.error.outcome === 'unknown') unknown++;
        await settled(20);
      }
      if (acknowledged.size >= 400 && !killed) {
        killed = true;
        process.kill(redis.pid!, 'SIGKILL');
      }
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  expect(killed).toBe(true);
  expect(acknowledged.size).toBe(1000);

  const cookies = await signIn(service, installId);
  expect((await service.get('/v1/balance', { cookies })).body.balanceCoins).toBe(1000);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const { body } = await service.get(`/v1/coins/history?limit=100${cursor === undefined ? '' : `&cursor=${cursor}`}`, { cookies });
    seen.push(...body.entries.map((entry: { key: string }) => entry.key));
    cursor = body.nextCursor;
  } while (cursor !== undefined);
  expect([...seen].sort()).toEqual([...keys].sort());
  expect(unknown).toBeGreaterThanOrEqual(0);
});

test('redis away: requests are answered 503 within the deadline, /health stays 200, /ready is 503, and all comes back', async () => {
  const installId = freshId();
  expect((await credit(installId, 'a')).status).toBe(200);
  expect((await service.get('/ready')).status).toBe(200);
  await redis.stop();
  const startedAt = performance.now();
  const refused = await credit(installId, 'b');
  expect([refused.status, refused.body.error.code]).toEqual([503, 'store_unavailable']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(performance.now() - startedAt).toBeLessThan(2500);
  expect((await service.get('/health')).status).toBe(200);
  const ready = await service.get('/ready');
  expect([ready.status, ready.body.error.code]).toEqual([503, 'store_unavailable']);

  redis = new PrivateRedis(folder, pino({ level: 'silent' }));
  await redis.start();
  await eventually(async () => (await service.get('/ready')).status === 200);
  expect((await credit(installId, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 2 });
});

test('redis hangs: a write is answered 503 with outcome unknown within the deadline, and its key tells later what became of it', async () => {
  const installId = freshId();
  await credit(installId, 'a');
  process.kill(redis.pid!, 'SIGSTOP');
  try {
    const startedAt = performance.now();
    const [write, read] = await Promise.all([credit(installId, 'b'), service.get(`/v1/balance?installId=${installId}`)]);
    expect([write.status, write.body.error.code, write.body.error.outcome]).toEqual([503, 'store_unavailable', 'unknown']);
    expect([read.status, read.body.error.code, read.body.error.outcome]).toEqual([503, 'store_unavailable', undefined]);
    const took = performance.now() - startedAt;
    expect(took).toBeGreaterThan(1900);
    expect(took).toBeLessThan(2500);
    expect((await service.get('/health')).status).toBe(200);
    // Long silent, its connection is given up: from then on answers come at once.
    await settled(1500);
    const again = performance.now();
    expect((await credit(installId, 'c')).status).toBe(503);
    expect(performance.now() - again).toBeLessThan(500);
  } finally {
    process.kill(redis.pid!, 'SIGCONT');
  }
  await eventually(async () => (await service.get('/ready')).status === 200);
  const { body } = await credit(installId, 'b');
  expect(body.balanceAfterCoins).toBe(2);
  expect((await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(2);
});

test('SCRIPT FLUSH under load goes unnoticed', async () => {
  const installId = freshId();
  const replies = await Promise.all(
    Array.from({ length: 300 }, async (_, index) => {
      if (index % 30 === 0) await service.service.redis.script('FLUSH');
      return credit(installId, `key-${index}`);
    }),
  );
  expect(replies.map(({ status }) => status)).toEqual(Array(300).fill(200));
  expect((await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(300);
});

test('out of memory, redis refuses before anything is written, and reads go on', async () => {
  const installId = freshId();
  await credit(installId, 'a');
  await service.service.redis.config('SET', 'maxmemory', '1');
  const { status, body } = await credit(installId, 'b');
  expect([status, body.error.code, body.error.outcome]).toEqual([503, 'store_unavailable', undefined]);
  expect((await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(1);
  await service.service.redis.config('SET', 'maxmemory', '0');
  expect((await credit(installId, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 2 });
});

test('an evicting maxmemory-policy makes the process not ready', async () => {
  await service.service.redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  const { status, body } = await service.get('/ready');
  expect([status, body.error.message]).toEqual([503, 'Not ready: maxmemory-policy allkeys-lru can lose coins: set noeviction.']);
});
