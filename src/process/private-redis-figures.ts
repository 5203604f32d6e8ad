import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isOfDisk } from '../redis/trouble.ts';
import type { PrivateRedisFigures } from '../serving/options.ts';
import { totalMemory } from './memory.ts';
import { RedisFailures, type RecordedTrouble } from './redis-failures.ts';

/** For how long an end of the private Redis is reported as a trouble, in milliseconds. */
const STANDING_MS = 10_000;

/** The bytes that are written to test whether the disk has room for Redis's next writes. */
const PROBE = Buffer.alloc(65_536);

/**
 * Reads facts about the private Redis without asking it: its last end, the room on its disk, and the machine's memory. Every worker reads
 * them itself, because only the primary process runs Redis.
 */
export function privateRedisFigures(dataDir: string): PrivateRedisFigures {
  const record = new RedisFailures(dataDir);
  const disk = new FullDisk(join(dataDir, 'redis', 'disk-probe'));
  return {
    trouble() {
      const { last } = record;
      if (last === undefined) return undefined;
      // If the age is negative, the machine's clock was set back after the end of Redis was noted.
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
 * Whether a disk that was full is still full. A Redis that ended because of a full disk starts again and ends at its next write. So only a
 * test write shows whether the disk has room.
 */
class FullDisk {
  readonly #probe: string;
  /** The time of the last end of Redis after which a test write succeeded, in milliseconds since 1970. */
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
