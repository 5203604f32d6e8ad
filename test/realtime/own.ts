import { afterAll, beforeAll } from 'vitest';
import { start, type StartOptions, type TestService } from '../harness.ts';
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

/** Starts two services on one Redis for the tests of a file. They stand for two processes. */
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
