import type { RedisConnections } from '../redis/redis-connections.ts';
import { figuresOf, type RedisFigures } from '../redis/node-figures.ts';
import { within } from '../redis/within.ts';
import { oneAtATime } from '../server/shared-call.ts';
import type { PrivateRedisFigures } from './options.ts';

/** How long a scrape of the metrics waits for the figures of a Redis, in milliseconds. */
const FIGURES_MS = 1000;

/** Reads the figures that each Redis reports about itself, for the metrics. All gauges of a scrape share one read. */
export function redisFigures(
  connections: RedisConnections,
  privateRedis: PrivateRedisFigures | undefined,
): () => Promise<readonly RedisFigures[]> {
  return oneAtATime(async () => {
    const asked = connections.nodes.map(({ name, redis }) =>
      within(FIGURES_MS, figuresOf(name, redis, privateRedis?.memoryBytes), () => undefined).catch(() => undefined),
    );
    return (await Promise.all(asked)).filter((node) => node !== undefined);
  });
}
