import type { RedisConnections } from '../redis/redis-connections.ts';
import { figuresOf, type RedisFigures } from '../redis/figures.ts';
import { within } from '../redis/within.ts';
import { oneAtATime } from '../server/one-at-a-time.ts';
import type { PrivateRedisWatch } from './options.ts';

/** How long a scrape waits for what a Redis says of itself. */
const FIGURES_MS = 1000;

/** What each Redis says of itself, for the metrics. All gauges of one scrape share one look. */
export function redisFigures(
  connections: RedisConnections,
  privateRedis: PrivateRedisWatch | undefined,
): () => Promise<readonly RedisFigures[]> {
  return oneAtATime(async () => {
    const asked = connections.nodes.map(({ name, redis }) =>
      within(FIGURES_MS, figuresOf(name, redis, privateRedis?.memoryBytes), () => undefined).catch(() => undefined),
    );
    return (await Promise.all(asked)).filter((node) => node !== undefined);
  });
}
