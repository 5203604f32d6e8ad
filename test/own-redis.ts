import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { PrivateRedis } from '../src/process/private-redis.ts';

export interface OwnRedis extends AsyncDisposable {
  readonly location: { readonly socketPath: string };
  /** A client. It connects at its first use. */
  readonly redis: Redis;
}

/**
 * A Redis for one test that changes Redis's settings or observes every command with MONITOR.
 * @param settings further settings of redis-server: `'--port', '7000'`
 */
export async function startRedis(...settings: string[]): Promise<OwnRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-own-redis-'));
  const server = new PrivateRedis(folder, pino({ level: 'silent' }), settings);
  await server.start();
  let client: Redis | undefined;
  return {
    location: { socketPath: server.socketPath },
    get redis() {
      return (client ??= new Redis({ path: server.socketPath }));
    },
    async [Symbol.asyncDispose]() {
      client?.disconnect();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
