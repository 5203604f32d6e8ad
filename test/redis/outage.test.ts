import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PrivateRedis } from '../../src/process/private-redis.ts';
import { freshId, sleep, signIn, start, type TestService } from '../harness.ts';
import { historyOf } from '../store.ts';
import { eventually } from '../realtime/watcher.ts';

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
const balance = async (installId: string) => (await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins;

test('of 1,000 credits during which Redis is killed, each is there once, acknowledged at first or after retries', async () => {
  const installId = freshId();
  const keys = Array.from({ length: 1000 }, (_, index) => `key-${index}`);
  const acknowledged = new Set<string>();
  let unknown = 0;
  let killed = false;
  const queue = [...keys];
  const worker = async (): Promise<void> => {
    for (let key = queue.pop(); key !== undefined; key = queue.pop()) {
      // A client retries with the same key until it is acknowledged.
      for (;;) {
        const { status, body } = await credit(installId, key);
        if (status === 200) {
          acknowledged.add(key);
          break;
        }
        expect([status, body.error.code]).toEqual([503, 'store_unavailable']);
        if (body.error.outcome === 'unknown') unknown++;
        // The pause of a client between two tries.
        await sleep(20);
      }
      if (acknowledged.size >= 400 && !killed) {
        killed = true;
        // Redis dies with unanswered credits: those that arrived during its pause.
        process.kill(redis.pid!, 'SIGSTOP');
        const { registry } = service.service.metrics;
        await eventually(async () => /in_flight [1-9]/.test(await registry.getSingleMetricAsString('coinop_http_requests_in_flight')));
        process.kill(redis.pid!, 'SIGKILL');
      }
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  expect(killed).toBe(true);
  expect(acknowledged.size).toBe(1000);

  const cookies = await signIn(service, installId);
  expect(await balance(installId)).toBe(1000);
  expect((await historyOf(service, cookies)).map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
  expect(unknown).toBeGreaterThan(0);
});

test('while Redis is away requests and /ready are answered 503 and /health 200, and afterwards all is served again', async () => {
  const installId = freshId();
  expect((await credit(installId, 'a')).status).toBe(200);
  expect((await service.get('/ready')).status).toBe(200);
  await redis.stop();
  const refused = await credit(installId, 'b');
  expect([refused.status, refused.body.error.code]).toEqual([503, 'store_unavailable']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await service.get('/health')).status).toBe(200);
  const ready = await service.get('/ready');
  expect([ready.status, ready.body.error.code]).toEqual([503, 'store_unavailable']);

  redis = new PrivateRedis(folder, pino({ level: 'silent' }));
  await redis.start();
  await eventually(async () => (await service.get('/ready')).status === 200);
  expect((await credit(installId, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 2 });
});

test('while Redis hangs a write is answered 503 with outcome unknown, and a retry with its key takes effect once', async () => {
  const installId = freshId();
  await credit(installId, 'a');
  process.kill(redis.pid!, 'SIGSTOP');
  try {
    const [write, read] = await Promise.all([credit(installId, 'b'), service.get(`/v1/balance?installId=${installId}`)]);
    expect([write.status, write.body.error.code, write.body.error.outcome]).toEqual([503, 'store_unavailable', 'unknown']);
    expect([read.status, read.body.error.code, read.body.error.outcome]).toEqual([503, 'store_unavailable', undefined]);
    expect((await service.get('/health')).status).toBe(200);
    // After 3 s of silence the service closes the connection. From then on it answers before the 2 s of a request are over.
    const failsAtOnce = async (ask: () => Promise<{ status: number }>): Promise<boolean> => {
      const askedAt = performance.now();
      expect((await ask()).status).toBe(503);
      return performance.now() - askedAt < 1500;
    };
    await eventually(() => failsAtOnce(() => service.get(`/v1/balance?installId=${installId}`)));
    await eventually(() => failsAtOnce(() => credit(installId, 'c')));
  } finally {
    process.kill(redis.pid!, 'SIGCONT');
  }
  await eventually(async () => (await service.get('/ready')).status === 200);
  expect((await credit(installId, 'b')).body.balanceAfterCoins).toBe(2);
  expect(await balance(installId)).toBe(2);
});

test('SCRIPT FLUSH under load fails no request', async () => {
  const installId = freshId();
  const replies = await Promise.all(
    Array.from({ length: 300 }, async (_, index) => {
      if (index % 30 === 0) await service.service.redis.script('FLUSH');
      return credit(installId, `key-${index}`);
    }),
  );
  expect(replies.map(({ status }) => status)).toEqual(Array(300).fill(200));
  expect(await balance(installId)).toBe(300);
});
