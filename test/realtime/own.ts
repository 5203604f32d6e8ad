import { forFile, start, type StartOptions, type TestService } from '../harness.ts';
import { startRedis } from '../own-redis.ts';

export interface OwnRedis extends AsyncDisposable {
  start(options?: StartOptions): Promise<TestService>;
}

/**
 * Services on a separate Redis for one test file. Every service on a Redis checks the presence of all rooms by its own clock, so a
 * service whose clock another file moves would mark the players here as disconnected.
 */
export async function ownRedis(): Promise<OwnRedis> {
  const redis = await startRedis();
  return {
    start: (options) => start({ redis: redis.location, ...options }),
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  };
}

/** Two services on one Redis for the tests of the calling file. They stand for two processes. */
export async function twoProcesses(): Promise<{ redis: OwnRedis; here: TestService; there: TestService }> {
  const redis = await forFile(ownRedis());
  return { redis, here: await forFile(redis.start()), there: await forFile(redis.start()) };
}
