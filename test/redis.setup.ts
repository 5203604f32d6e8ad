import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import type { TestProject } from 'vitest/node';
import { PrivateRedis } from '../src/process/private-redis.ts';
import { DATABASES } from './environment.ts';
import { SMALLEST_USER, smallestRules } from './smallest-user.ts';
import type { UserData } from './user-data.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Unix socket of the Redis that all test files share. Each file may use only its own ids. */
    redisSocket: string;
    /** Set in `npm run test:long`. */
    isFullSize?: boolean;
    /** The Clusters of the project `cluster`. */
    redisClusters?: {
      /** One for each test process. Its files share it, so they must not move its slots or stop its nodes. */
      readonly urls: readonly string[];
      /** A file in which test files note that they used a Cluster. */
      readonly usedBy: string;
    };
    /** Folder of the run. Test files record there which errors they provoked, for test/closing. */
    notesDir: string;
    /** What `./data` held when the run began. */
    userDataBefore: UserData;
  }
}

/** Starts one real Redis for the whole run, with the code that starts the service's private Redis. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-test-'));
  const redis = new PrivateRedis(folder, pino({ level: 'silent' }));
  await redis.start();
  const client = new Redis({ path: redis.socketPath });
  for (let database = 0; database < DATABASES; database++) {
    const rules = smallestRules({ isCluster: false, database, waits: true });
    // Tests find connections by their names.
    await client.acl('SETUSER', `${SMALLEST_USER.name}${database}`, ...rules, '+client|setname', `>${SMALLEST_USER.password}`);
  }
  client.disconnect();
  project.provide('redisSocket', redis.socketPath);
  return async () => {
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
    rmSync(project.getProvidedContext().notesDir, { recursive: true, force: true });
  };
}
