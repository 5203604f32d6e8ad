import { statfsSync } from 'node:fs';
import type { PrivateRedisWatch } from '../service.ts';
import { totalMemory } from './memory.ts';
import { RedisRecord } from './redis-record.ts';

/** A Redis that ended counts as in trouble for so long. One that ends for want of disk is started again at once, and ends at the next write. */
const STANDING_MS = 10_000;

/** What a serving process looks at of the private Redis, beside its connections. Every worker does: the primary runs the Redis. */
export function watchPrivateRedis(dataDir: string): PrivateRedisWatch {
  const record = new RedisRecord(dataDir);
  return {
    trouble() {
      const { last } = record;
      return last !== undefined && Date.now() - last.at.getTime() < STANDING_MS ? last.trouble : undefined;
    },
    disk() {
      try {
        const { bavail, blocks, bsize } = statfsSync(dataDir);
        return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
      } catch {
        return undefined;
      }
    },
    memoryBytes: totalMemory(),
  };
}
