import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isOfDisk } from '../redis/trouble.ts';
import type { PrivateRedisFigures } from '../serving/options.ts';
import { totalMemory } from './memory.ts';
import { RedisRecord, type RecordedTrouble } from './redis-record.ts';

/** How long a Redis that ended counts as in trouble. */
const STANDING_MS = 10_000;

/** Written to see whether the disk has room again, which Redis needs for its next writes. */
const PROBE = Buffer.alloc(65_536);

/**
 * Watches the private Redis for a serving process, besides its connections. Every worker needs this, because the primary runs the Redis.
 */
export function privateRedisFigures(dataDir: string): PrivateRedisFigures {
  const record = new RedisRecord(dataDir);
  const disk = new FullDisk(join(dataDir, 'redis', 'disk-probe'));
  return {
    trouble() {
      const { last } = record;
      if (last === undefined) return undefined;
      // An end in the future means that the clock was set back since it was noted.
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

/**
 * A Redis that ended because the disk was full starts again, and ends at its next write. Only a write shows whether there is room again.
 */
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
