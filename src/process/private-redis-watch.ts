import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isOfDisk } from '../redis/trouble.ts';
import type { PrivateRedisWatch } from '../serving/options.ts';
import { totalMemory } from './memory.ts';
import { RedisRecord, type RecordedTrouble } from './redis-record.ts';

/** A Redis that ended counts as in trouble for so long. */
const STANDING_MS = 10_000;

/** What is written to see whether a disk has room again. Redis needs some for its next writes. */
const PROBE = Buffer.alloc(65_536);

/** What a serving process looks at of the private Redis, beside its connections. Every worker does: the primary runs the Redis. */
export function watchPrivateRedis(dataDir: string): PrivateRedisWatch {
  const record = new RedisRecord(dataDir);
  const disk = new FullDisk(join(dataDir, 'redis', 'disk-probe'));
  return {
    trouble() {
      const { last } = record;
      if (last === undefined) return undefined;
      // An end that lies in the future was noted before the clock was set back.
      const ageMs = Date.now() - last.at.getTime();
      return (ageMs >= 0 && ageMs < STANDING_MS) || disk.isFullSince(last) ? last.trouble : undefined;
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

/** After an end for want of disk Redis starts again, and ends at its next write. Only a write tells whether there is room again. */
class FullDisk {
  readonly #probe: string;
  /** The end after which a write succeeded. */
  #passed = 0;

  constructor(probe: string) {
    this.#probe = probe;
  }

  isFullSince({ at, trouble }: RecordedTrouble): boolean {
    if (!isOfDisk(trouble) || at.getTime() === this.#passed) return false;
    try {
      writeFileSync(this.#probe, PROBE, { mode: 0o600 });
      this.#passed = at.getTime();
      return false;
    } catch {
      return true;
    } finally {
      rmSync(this.#probe, { force: true });
    }
  }
}
