import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { measureScripts } from '../../bench/micro/scripts.ts';
import { MOST_CALLS } from '../../src/redis/script-runner.ts';
import { PrivateRedis } from '../../src/process/private-redis.ts';

// Every run of the measurement uses the same ids. So it needs its own Redis.
test('npm run bench:micro measures every case', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-micro-'));
  const server = new PrivateRedis(folder, pino({ level: 'silent' }));
  await server.start();
  const redis = new Redis({ path: server.socketPath });
  try {
    const { costs } = await measureScripts(redis, new AbortController().signal, () => {}, 8 * MOST_CALLS);
    expect(costs.map(({ what }) => what)).toEqual(expect.arrayContaining(['coins/apply (credit)', 'rooms/presence (hello)']));
    expect(costs.filter(({ script }) => !(script > 0)).map(({ what }) => what)).toEqual([]);
  } finally {
    redis.disconnect();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
