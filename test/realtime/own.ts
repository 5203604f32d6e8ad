import { afterAll, beforeAll } from 'vitest';
import { start, type StartOptions, type TestService } from '../harness.ts';
import { startRedis } from '../own-redis.ts';

export interface OwnRedis extends AsyncDisposable {
  start(options?: StartOptions): Promise<TestService>;
}

/**
 * Services on a Redis that no other test file shares. Every service on a Redis checks the presence of all rooms by its own
 * clock, so a service whose clock another file moves would mark the players here as away.
 */
export async function ownRedis(): Promise<OwnRedis> {
  const redis = await startRedis();
  return {
    start: (options) => start({ redis: redis.location, ...options }),
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  };
}

/** Starts two services on one Redis for the tests of a file, as two processes would be. */
export function twoProcesses(started: (both: { redis: OwnRedis; here: TestService; there: TestService }) => void): void {
  const running: AsyncDisposable[] = [];
  beforeAll(async () => {
    const redis = await ownRedis();
    running.push(redis);
    const [here, there] = await Promise.all([redis.start(), redis.start()]);
    running.push(here, there);
    started({ redis, here, there });
  });
  afterAll(async () => {
    const [redis, ...services] = running;
    await Promise.all(services.map((service) => service[Symbol.asyncDispose]()));
    await redis?.[Symbol.asyncDispose]();
  });
}
