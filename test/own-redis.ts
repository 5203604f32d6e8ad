import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { RedisLocation } from '../src/redis/connect.ts';
import { PrivateRedis } from '../src/process/private-redis.ts';

/**
 * A Redis for one test: for tests that change Redis's settings or observe every command with MONITOR.
 * @param settings further ones of redis-server: `'--port', '7000'`
 */
export async function startRedis(...settings: string[]): Promise<AsyncDisposable & { location: RedisLocation }> {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-own-redis-'));
  const redis = new PrivateRedis(folder, pino({ level: 'silent' }), settings);
  await redis.start();
  return {
    location: { socketPath: redis.socketPath },
    async [Symbol.asyncDispose]() {
      await redis.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
