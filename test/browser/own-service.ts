import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { sleep } from '../harness.ts';
import { childEnvironment } from '../environment.ts';

/** A port outside of the system's range of ephemeral ports, so that nobody takes it while the service is down. */
export const fixedPort = (): string => String(20_000 + Math.floor(Math.random() * 10_000));

export interface OwnService {
  kill(): Promise<void>;
  /** The service starts another one on the same data. */
  killRedis(): Promise<void>;
}

/** The service as `npm start` runs it, with its own Redis. */
export async function startMain(dataDir: string, port: string): Promise<OwnService> {
  const child: ChildProcess = spawn(process.execPath, [fileURLToPath(new URL('../../src/main.ts', import.meta.url))], {
    env: childEnvironment({ DATA_DIR: dataDir, PORT: port, NODE_ENV: 'development' }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', (text: Buffer) => text.includes('coinop listening on') && resolve());
    child.on('exit', (code) => reject(new Error(`the service ended with ${code}`)));
  });
  const exited = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  return {
    kill() {
      child.kill('SIGKILL');
      return exited;
    },
    async killRedis() {
      process.kill(await redisPid(dataDir), 'SIGKILL');
    },
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
