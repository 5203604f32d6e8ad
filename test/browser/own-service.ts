import { join } from 'node:path';
import { Redis } from 'ioredis';
import { sleep } from '../harness.ts';
import { startChild } from '../realtime/child.ts';

/** A port outside of the system's range of ephemeral ports, so that nobody takes it while the service is down. */
export const fixedPort = (): string => String(20_000 + Math.floor(Math.random() * 10_000));

export interface OwnService {
  kill(): Promise<unknown>;
  /** The service starts another one on the same data. */
  killRedis(): Promise<void>;
}

/** The service as `npm start` runs it, with its own Redis. */
export async function startMain(dataDir: string, port: string): Promise<OwnService> {
  const child = await startChild({ DATA_DIR: dataDir, PORT: port, NODE_ENV: 'development' });
  return {
    kill: () => child.stop('SIGKILL'),
    killRedis: async () => void process.kill(await redisPid(dataDir), 'SIGKILL'),
  };
}

/** The process of Redis. Resolves once Redis answers. */
async function redisPid(dataDir: string): Promise<number> {
  for (;;) {
    const redis = new Redis({ path: join(dataDir, 'redis.sock'), lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 });
    redis.on('error', () => {});
    try {
      await redis.connect();
      return Number(/process_id:(\d+)/.exec(await redis.info('server'))![1]);
    } catch {
      await sleep(50);
    } finally {
      redis.disconnect();
    }
  }
}
