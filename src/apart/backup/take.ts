import { createHash, randomBytes } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { parseSessionKeys, type Config } from '../../config.ts';
import { version } from '../../web/version.ts';
import { openPrivateRedis } from '../../process/opened-redis.ts';
import { Failure } from '../../process/command.ts';
import { holdName } from '../../process/lock.ts';
import { availableMemory, sizeText } from '../../process/memory.ts';
import { syncFolder } from '../../process/restored-data.ts';
import { parseDataVersion, readDataVersion } from '../../redis/data/data-version.ts';
import { Archive, ArchiveWriter, DamagedBackup } from './archive.ts';
import { checkData, driftText, upgradeCopy, type CheckedData } from './check-data.ts';
import { MEMBERS, newManifest, type Manifest } from './manifest.ts';
import { snapshotOf } from './snapshot.ts';
import { startStaged, unpackData } from './staged-redis.ts';
import { readTombstones, textOfTombstones } from './known-deletions.ts';

/** The prefix of the folder in which an unfinished backup is written. */
const UNFINISHED = '.coinop-backup-';

/** Settings of a private Redis that is started only for a snapshot. It must not rewrite its append-only file. */
const READING = ['--auto-aof-rewrite-percentage', '0'];

/**
 * The memory that the audited copy needs, as a multiple of the memory that the service's Redis uses. A Redis that has just loaded its data
 * needs less memory than a Redis that has run for long, so a small margin is enough.
 */
const MEMORY_MARGIN = 1.1;

/** How many copies of the data the backup puts on disk: the backup's file, and the copy that is audited. */
const COPIES = 2;

/**
 * Bytes of the disk that are left for the service's own writes during the backup. At 250 B each they are enough for 400,000 coin
 * operations.
 */
const ROOM_LEFT_BYTES = 100_000_000;

export interface BackupOptions {
  readonly config: Config;
  /** The place of the backup: the path of a file that does not exist yet, or of a folder. */
  readonly to: string;
  readonly withSessionKeys: boolean;
  readonly isAudited: boolean;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface TakenBackup {
  readonly file: string;
  readonly manifest: Manifest;
  /** The findings of the audit of the copy, as text. Undefined: there are no findings, or the copy was not audited. */
  readonly drift: string | undefined;
  /** Hints for the operator, a sentence each. */
  readonly hints: readonly string[];
}

/**
 * Takes a backup of the private Redis. The file is written in a separate folder next to its final place. It is moved there once it is
 * complete, checked and on disk.
 * @throws Failure or SettingError if there is no backup; no file is left
 */
export async function takeBackup(options: BackupOptions): Promise<TakenBackup> {
  const { config, signal } = options;
  const startedAt = new Date();
  const file = placeOf(options.to, startedAt);
  const folder = dirname(file);
  // Only one backup at a time may write into a folder. Two backups would delete each other's unfinished files as leftovers.
  const lock = createHash('sha256').update(folder).digest('hex').slice(0, 32);
  if ((await holdName(`coinop:backup:${lock}`)) === undefined) throw new Failure(`Another backup is writing into ${folder}.`);
  for (const name of readdirSync(folder)) if (name.startsWith(UNFINISHED)) rmSync(join(folder, name), { recursive: true, force: true });
  const unfinished = join(folder, UNFINISHED + randomBytes(6).toString('hex'));
  try {
    mkdirSync(unfinished, { mode: 0o700 });
    const draft = join(unfinished, 'draft.tar');
    const { manifest, checked } = await write(draft, unfinished, options);
    signal.throwIfAborted();
    giveName(draft, file);
    return {
      file,
      manifest,
      drift: checked === undefined || checked.counts.drift === 0 ? undefined : driftText(checked),
      hints: hintsOf(file, config, manifest),
    };
  } catch (error) {
    throw asFailure(error, file);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** The path of the backup's file. @throws Failure if the file exists, or if its folder does not */
function placeOf(to: string, at: Date): string {
  const wanted = resolve(to);
  const isFolder = existsSync(wanted) && statSync(wanted).isDirectory();
  const name = isFolder ? `coinop-${at.toISOString().slice(0, 19).replaceAll(':', '-')}Z.tar` : basename(wanted);
  const folder = isFolder ? wanted : dirname(wanted);
  if (!existsSync(folder)) throw new Failure(`There is no folder ${folder}.`);
  const file = join(realpathSync(folder), name);
  if (existsSync(file)) throw new Failure(`${file} exists already, and a backup overwrites nothing.`);
  return file;
}

interface WrittenBackup {
  readonly manifest: Manifest;
  readonly checked: CheckedData | undefined;
}

/** Writes the backup's file, reads the data back from the file, audits the data, and adds the result to the file. */
async function write(draft: string, unfinished: string, options: BackupOptions): Promise<WrittenBackup> {
  const { config, withSessionKeys, isAudited, signal } = options;
  const archive = await ArchiveWriter.create(draft, Date.now());
  try {
    const found = await addData(archive, unfinished, options);
    const keys = withSessionKeys ? sessionKeysOf(config) : undefined;
    if (keys !== undefined) await archive.add(MEMBERS.sessionKeys, [keys]);
    const checked = isAudited ? await audited(archive, join(unfinished, 'copy'), signal) : undefined;
    const verified = checked === undefined ? null : verifiedBy(checked);
    const manifest = newManifest({ version, ...found, sessionKeys: keys !== undefined, verified });
    await archive.add(MEMBERS.manifest, [Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`)]);
    await archive.end();
    const whole = await Archive.open(draft);
    await whole.verify(signal).finally(() => whole.close());
    return { manifest, checked };
  } finally {
    await archive.abandon();
  }
}

async function addData(
  archive: ArchiveWriter,
  folder: string,
  { config, isAudited, log, signal }: BackupOptions,
): Promise<Pick<Manifest, 'dataVersion' | 'at' | 'redis' | 'data'>> {
  const { source, isOwn, close } = await openPrivateRedis(config, log, READING);
  const { redis } = source;
  try {
    const dataVersion = await readDataVersion(redis);
    if (parseDataVersion(dataVersion ?? '')?.isUpgrading === true && !isOwn)
      throw new Failure('The service is upgrading the data. Take the backup once the service is ready.');
    if (isAudited) refuseWithoutMemory(Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1] ?? 0));
    const dataBytes = Number(/^aof_current_size:(\d+)/m.exec(await redis.info('persistence'))?.[1] ?? 0);
    // If no service runs, a full disk cannot harm one.
    if (!isOwn && isOnDiskOfData(folder, config)) refuseWithoutRoom(folder, dataBytes * (isAudited ? COPIES : 1));
    const server = await redis.info('server');
    const at = new Date().toISOString();
    const data = await archive.add(MEMBERS.data, snapshotOf(redis.options.path!, signal));
    await archive.add(MEMBERS.tombstones, [Buffer.from(textOfTombstones(await readTombstones(redis)))]);
    return { dataVersion, at, redis: nameOfServer(server), data };
  } finally {
    await close();
  }
}

/**
 * Refuses the audit if the memory does not suffice for the copy, because the kernel might kill the service's Redis.
 * @param used bytes of memory that the service's Redis uses
 */
function refuseWithoutMemory(used: number): void {
  const [needed, free] = [used * MEMORY_MARGIN, availableMemory()];
  if (free === undefined || free >= needed) return;
  throw new Failure(
    `The audit of the copy needs ${sizeText(needed)} of memory, and ${sizeText(free)} are free. Take the backup with --no-audit, and restore it on another machine to audit it there.`,
  );
}

/**
 * Refuses the backup if the disk might get full. The service's Redis would then be unable to acknowledge writes, and would exit.
 * @param needed bytes of the backup, estimated from the append-only file, which is at least as large as a snapshot
 */
function refuseWithoutRoom(folder: string, needed: number): void {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  if (free >= needed + ROOM_LEFT_BYTES) return;
  throw new Failure(
    `The backup takes up to ${sizeText(needed)} while it is made, and ${sizeText(free)} are free on the disk of the data. The service's Redis ends on a full disk: make room, or name a folder on another disk.`,
  );
}

function isOnDiskOfData(folder: string, { DATA_DIR }: Pick<Config, 'DATA_DIR'>): boolean {
  return statSync(folder).dev === statSync(DATA_DIR).dev;
}

/** The name and the version of the server: `Redis 7.0.15`, `Valkey 8.1.1`. */
function nameOfServer(info: string): string {
  const valkey = /^valkey_version:(\S+)/m.exec(info)?.[1];
  return valkey === undefined ? `Redis ${/^redis_version:(\S+)/m.exec(info)?.[1] ?? '?'}` : `Valkey ${valkey}`;
}

/** Audits the data in the backup's file. Data of an older version is upgraded only in the copy, which also tests the upgrade. */
async function audited(archive: ArchiveWriter, folder: string, signal: AbortSignal): Promise<CheckedData> {
  await unpackData(archive.pieces(MEMBERS.data), folder, signal);
  const { redis, stop } = await startStaged(folder);
  try {
    await upgradeCopy(redis);
    return await checkData(redis, signal);
  } finally {
    await stop();
  }
}

function verifiedBy({ counts, coins, tombstones }: CheckedData): NonNullable<Manifest['verified']> {
  const { keys, checked, unknown, drift, unsettled } = counts;
  return { accounts: checked['accounts'] ?? 0, keys, coins: String(coins), tombstones, audit: { drift, unsettled, checked, unknown } };
}

/**
 * The session keys that the first start of the service made. Undefined if the service takes them from SESSION_KEYS.
 * @throws Failure if they are unreadable
 */
function sessionKeysOf({ DATA_DIR }: Config): Buffer | undefined {
  const file = join(DATA_DIR, 'session-keys');
  if (!existsSync(file)) return undefined;
  const keys = readFileSync(file);
  try {
    parseSessionKeys(keys.toString().trim());
  } catch {
    throw new Failure(`${file} cannot be read as session keys. Mend it, or leave it out with --no-session-keys.`);
  }
  return keys;
}

/**
 * Gives the finished file its final name. If another file has appeared at the backup's path since the start, it is not replaced: link(2)
 * fails then, while rename(2) would overwrite it.
 */
function giveName(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || existsSync(file)) throw new Failure(`${file} exists by now, and a backup overwrites nothing.`);
    // Some file systems, such as exFAT, have no hard links.
    renameSync(draft, file);
  }
  syncFolder(dirname(file));
}

function hintsOf(file: string, config: Config, { sessionKeys }: Manifest): string[] {
  return [
    ...(isOnDiskOfData(file, config) ? ['The backup is on the same disk as the data: copy it to another machine.'] : []),
    sessionKeys
      ? 'The backup holds the keys that sign sessions: anybody who reads it can sign in as any user.'
      : 'The backup holds no session keys: keep SESSION_KEYS as well, or a restore signs everybody out.',
  ];
}

/** Turns an error of the disk into a message for the operator. */
function asFailure(error: unknown, file: string): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const isOfDisk = syscall !== undefined && code !== undefined && syscall !== 'connect';
  return isOfDisk || error instanceof DamagedBackup ? new Failure(`There is no backup ${file}: ${message}`) : error;
}
