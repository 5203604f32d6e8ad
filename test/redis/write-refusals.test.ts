import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { PrivateRedis } from '../../src/process/private-redis.ts';
import { forFile, freshId, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { eventually } from '../realtime/watcher.ts';
import { credit, readiness, reasonOf } from './movable-services.ts';

const logLines: string[] = [];
const { redis, location } = await forFile(startRedis());
const service = await forFile(start({ redis: location, logLines }));

const creditOf = async (of = service): Promise<number> => (await credit(of, freshId(), 'a')).status;
const told = (message: string) => logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === message);
const gauges = async (): Promise<string> => {
  // The text is made once a second.
  service.advance(1001);
  return (await service.get('/metrics')).body;
};

test('Redis at its maxmemory is logged once, named by /ready and counted, until it takes writes again', async () => {
  expect(await creditOf()).toBe(200);
  expect(await gauges()).toMatch(/^coinop_redis_takes_writes 1$/m);
  await redis.config('SET', 'maxmemory', '1mb');
  // Redis refused before the script began, so nothing was written.
  for (const { status, body } of await Promise.all([1, 2, 3].map(() => credit(service, freshId(), 'a'))))
    expect([status, body.error.code, body.error.outcome]).toEqual([503, 'store_unavailable', undefined]);
  expect(told('redis refuses writes')).toEqual([
    expect.objectContaining({
      level: 50,
      reason: expect.stringMatching(/^OOM command not allowed/),
      trouble: 'Redis has reached its maxmemory.',
      mend: 'docs/operations/runbook.md#coinopredismemory',
    }),
  ]);
  expect(await reasonOf(service)).toMatch(/redis refuses writes: OOM command not allowed.*Redis has reached its maxmemory/);
  const text = await gauges();
  expect(text).toMatch(/^coinop_redis_takes_writes 0$/m);
  expect(text).toMatch(/^coinop_redis_memory_max_bytes 1048576$/m);
  expect(Number(/^coinop_redis_memory_used_bytes (\d+)$/m.exec(text)![1])).toBeGreaterThan(500_000);
  // Reads continue.
  expect((await service.get('/v1/highscores/pebble-drop')).status).toBe(200);

  await redis.config('SET', 'maxmemory', '0');
  expect(await creditOf()).toBe(200);
  expect(await readiness(service)).toBe(200);
  await eventually(() => told('redis takes writes again').length === 1);
  expect(told('redis refuses writes')).toHaveLength(1);
});

test('Redis that wants more replicas than it has is not ready', async () => {
  await redis.config('SET', 'min-replicas-to-write', '1');
  expect(await reasonOf(service)).toContain('redis refuses writes: NOREPLICAS');
  await redis.config('SET', 'min-replicas-to-write', '0');
  expect(await readiness(service)).toBe(200);
});

/** An operator's own Redis, which continues on a full disk, where the private one ends. A full disk needs the rights of root. */
test.skipIf(process.getuid?.() !== 0)(
  'a Redis with appendfsync everysec on a full disk is logged, not ready, and named',
  async (context) => {
    const disk = mkdtempSync(join(tmpdir(), 'coinop-full-'));
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).status !== 0) return context.skip();
    const full = new PrivateRedis(disk, pino({ level: 'silent' }), ['--appendfsync', 'everysec']);
    await full.start();
    const lines: string[] = [];
    const onFull = await start({ redis: { socketPath: full.socketPath }, logLines: lines });
    const client = new Redis({ path: full.socketPath });
    try {
      let refusal = '';
      for (let write = 0; refusal === ''; write++)
        await client.set(`key-${write}`, 'x'.repeat(100_000)).catch((error: Error) => (refusal = error.message));
      expect(refusal).toMatch(/^MISCONF/);
      expect(await creditOf(onFull)).toBe(503);
      expect(await reasonOf(onFull)).toMatch(
        /redis refuses writes: MISCONF .*No space left on device \(The disk of Redis is full: docs\/operations\/runbook.md#a-full-disk\)/,
      );
      expect(lines.filter((line) => line.includes('"redis refuses writes"') && line.includes('#a-full-disk'))).toHaveLength(1);
    } finally {
      client.disconnect();
      await onFull[Symbol.asyncDispose]();
      await full.stop();
      spawnSync('umount', ['-l', disk]);
      rmSync(disk, { recursive: true, force: true });
    }
  },
);
