import { mkdir, open, readdir, writeFile } from 'node:fs/promises';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { Failure } from '../../process/command.ts';
import { answering } from '../../process/opened-redis.ts';
import { PrivateRedis } from '../../process/private-redis.ts';
import { syncFolder } from '../../process/restored-data.ts';

/**
 * Redis 7.0 keeps an append-only file as a base file and increments, which a manifest lists. From a backup coinop makes a base without
 * increments: https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/
 */
const BASE = 'appendonly.aof.1.base.rdb';
const AOF_MANIFEST = `file ${BASE} seq 1 type b\n`;

/**
 * Settings that differ between the Redis of a copy and the service's Redis. No service uses the copy, so its data need not be on disk until
 * `syncAll` has run.
 */
const SETTINGS = ['--appendfsync', 'no', '--auto-aof-rewrite-percentage', '0'];

/**
 * The value of oom_score_adj for the copy's Redis, the highest value (proc(5)). If the machine runs out of memory, the kernel then kills
 * the copy and not the service's Redis.
 */
const ENDED_FIRST = '1000';

/** A separate Redis process on the data of a backup. */
export interface StagedRedis {
  readonly redis: Redis;
  /** Stops the Redis process. The data stays in the subfolder `redis`, in the same files as that of the service's private Redis. */
  stop(): Promise<void>;
}

/** Writes the data of a backup as the files of a private Redis into this folder. @param data a snapshot in Redis's own format */
export async function unpackData(data: AsyncIterable<Buffer>, folder: string, signal: AbortSignal): Promise<void> {
  const place = join(folder, 'redis', 'appendonlydir');
  await mkdir(place, { recursive: true, mode: 0o700 });
  const file = await open(join(place, BASE), 'wx', 0o600);
  try {
    for await (const piece of data) {
      signal.throwIfAborted();
      await file.writeFile(piece);
    }
  } finally {
    await file.close();
  }
  await writeFile(join(place, 'appendonly.aof.manifest'), AOF_MANIFEST, { mode: 0o600 });
}

/** Starts a Redis on the data of this folder. @throws Failure if Redis does not load the data; SettingError if this machine has no Redis */
export async function startStaged(folder: string): Promise<StagedRedis> {
  const log = pino({ level: 'silent' });
  const logFile = join(folder, 'redis.log');
  const server = new PrivateRedis(folder, log, [...SETTINGS, '--logfile', logFile]);
  try {
    await server.start();
    preferToEnd(server.pid);
    const redis = await answering({ socketPath: server.socketPath }, 'The copy', log);
    return {
      redis,
      async stop() {
        redis.disconnect();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    // Redis creates the log file when it starts. So if the file is missing, this machine has no redis-server.
    if (!existsSync(logFile)) throw error;
    throw new Failure(`Redis does not load the data of the backup: ${lastLine(readFileSync(logFile, 'utf8')) ?? (error as Error).message}`);
  }
}

/** The last line in the log of a Redis, without the process id, the time and the level. */
function lastLine(text: string): string | undefined {
  return text
    .trim()
    .split('\n')
    .at(-1)
    ?.replace(/^\d+:\w .*? [#*.-] /, '');
}

function preferToEnd(pid: number | undefined): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, ENDED_FIRST);
  } catch {
    // A hardened /proc refuses the write. If memory runs out, the kernel may then kill any process, not necessarily the copy.
  }
}

/** Waits until all files of a folder are on disk. */
export async function syncAll(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await syncAll(path);
    if (!entry.isFile()) continue;
    const file = await open(path, 'r+');
    await file.sync().finally(() => file.close());
  }
  syncFolder(folder);
}
