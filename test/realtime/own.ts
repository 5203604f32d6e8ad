import { start, type StartOptions, type TestService } from '../harness.ts';
import { startRedis } from '../own-redis.ts';

/**
 * Services on a Redis that no other test file shares. Every service on a Redis checks the presence of all rooms by its own
 * clock, so a service whose clock another file moves would mark the players here as away.
 */
export async function ownRedis(): Promise<AsyncDisposable & { start(options?: StartOptions): Promise<TestService> }> {
  const redis = await startRedis();
  return {
    start: (options) => start({ redis: redis.location, ...options }),
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  };
}
