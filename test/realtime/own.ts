import { start, type StartOptions, type TestService } from '../harness.ts';
import { startRedis } from '../own-redis.ts';

/**
 * Services on a Redis of the file's own. Presence is looked after by whichever service comes first, by its own clock: one
 * that another file moves would send this file's players away.
 */
export async function ownRedis(): Promise<AsyncDisposable & { start(options?: StartOptions): Promise<TestService> }> {
  const redis = await startRedis();
  return {
    start: (options) => start({ redis: redis.location, ...options }),
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  };
}
