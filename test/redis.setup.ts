import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { TestProject } from 'vitest/node';
import { PrivateRedis } from '../src/process/private-redis.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The Redis that all test files share; each keeps to ids of its own. */
    redisSocket: string;
    /** A folder where the files note what they provoked, for the closing tests. */
    notesDir: string;
  }
}

/** One real Redis for the whole run, started the way the service starts its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-test-'));
  const redis = new PrivateRedis(folder, pino({ level: 'silent' }));
  await redis.start();
  project.provide('redisSocket', redis.socketPath);
  return async () => {
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
    rmSync(project.getProvidedContext().notesDir, { recursive: true, force: true });
  };
}
