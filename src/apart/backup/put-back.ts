import { chown, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import type { Tombstone } from '../../accounts/tombstones.ts';
import { parseSessionKeys } from '../../config.ts';
import { answering, isListening } from '../../process/opened-redis.ts';
import { Failure } from '../../process/command.ts';
import { holdDataDir, makeFolder } from '../../process/data-dir.ts';
import { DATA_ID_FILE } from '../../process/data-id-file.ts';
import { PrivateRedis } from '../../process/private-redis.ts';
import { socketPathFor } from '../../process/redis-server.ts';
import { finishRestore, hasData, isCutOff, putInPlace, RESTORING } from '../../process/restored-data.ts';
import { DATA_ID_KEY, dataIdValue, newDataId } from '../../redis/data/data-id.ts';
import { Archive, DamagedBackup } from './archive.ts';
import { checkData, driftText, upgradeCopy, type CheckedData } from './check-data.ts';
import { manifestOf, MEMBERS, problemOfVersion, type Manifest } from './manifest.ts';
import { startStaged, syncAll, unpackData } from './staged-redis.ts';
import { applyAgain, parseTombstones, readTombstones } from './known-deletions.ts';

/** The members that every backup has. */
const NEEDED = [MEMBERS.data, MEMBERS.tombstones, MEMBERS.manifest];

export interface RestoreOptions {
  readonly dataDir: string;
  /** The path of the backup's file. */
  readonly from: string;
  readonly isReplacing: boolean;
  /** Paths of further backups whose tombstones (deletions of accounts) are applied too. */
  readonly tombstoneFiles: readonly string[];
  readonly forgetsDeletions: boolean;
  readonly acceptsDrift: boolean;
  readonly signal: AbortSignal;
}

/**
 * Restores a backup as the data of the private Redis of DATA_DIR. The old data is replaced only once the new data is completely checked and
 * on disk. The old data is kept under another name.
 * @returns a report, in sentences for the operator
 * @throws Failure, SettingError: nothing was restored then
 */
export async function restoreBackup(options: RestoreOptions): Promise<string[]> {
  const { from, signal } = options;
  // The file is checked before DATA_DIR is touched, so that a damaged file changes nothing there.
  const { archive, manifest } = await openBackup(from, signal);
  try {
    const deletions = (await Promise.all(options.tombstoneFiles.map((file) => tombstonesOf(file, signal)))).flat();
    const dataDir = await holdForRestore(options.dataDir, options.isReplacing);
    const old = await deletionsOfOldData(dataDir, options);
    const staged = join(dataDir, RESTORING);
    try {
      return await stageAndPutInPlace(dataDir, archive, manifest, [...old, ...deletions], options);
    } finally {
      // After a success the folder no longer exists. If a crash interrupts the restore while it puts files in place, the folder must stay.
      // It then holds the only copy of the data, which the next start of the service puts in place.
      if (!isCutOff(dataDir)) await rm(staged, { recursive: true, force: true });
    }
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (code === undefined || syscall === undefined) throw error;
    const outcome = isCutOff(options.dataDir)
      ? 'The restore was cut off, and the next start of the service finishes it'
      : 'Nothing was restored';
    throw new Failure(`${outcome}: ${message}`);
  } finally {
    await archive.close();
  }
}

/** Opens a backup and checks its members against its checksums. @throws Failure if this coinop cannot restore the backup */
async function openBackup(file: string, signal: AbortSignal): Promise<{ archive: Archive; manifest: Manifest }> {
  let archive: Archive | undefined;
  try {
    archive = await Archive.open(file);
    await archive.verify(signal);
    for (const name of NEEDED) if (!archive.has(name)) throw new DamagedBackup(`It has no ${name}.`);
    const manifest = await manifestOf(archive);
    const problem = problemOfVersion(manifest.dataVersion);
    if (problem !== undefined) throw new Failure(`${file} cannot be restored. ${problem}`);
    return { archive, manifest };
  } catch (error) {
    await archive?.close();
    if (error instanceof DamagedBackup) throw new Failure(`${file} cannot be restored. ${error.message}`);
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw new Failure(`${file} cannot be read: ${(error as Error).message}`);
    throw error;
  }
}

async function tombstonesOf(file: string, signal: AbortSignal): Promise<Tombstone[]> {
  const { archive } = await openBackup(file, signal);
  try {
    return parseTombstones(await archive.text(MEMBERS.tombstones));
  } catch (error) {
    throw new Failure(`The tombstones of ${file} cannot be read: ${(error as Error).message}.`);
  } finally {
    await archive.close();
  }
}

/**
 * Locks DATA_DIR, and finishes or removes a restore that was interrupted.
 * @returns the real path of DATA_DIR
 * @throws Failure if a service runs on DATA_DIR, or if it has data that may not be replaced
 */
async function holdForRestore(dataDir: string, isReplacing: boolean): Promise<string> {
  try {
    makeFolder(dataDir);
  } catch (error) {
    throw new Failure(`DATA_DIR ${dataDir} cannot be used: ${(error as Error).message}`);
  }
  const { folder, isHeld } = await holdDataDir({ DATA_DIR: dataDir });
  if (!isHeld) throw new Failure(`DATA_DIR ${folder} is in use. Stop the service first.`);
  // The lock is not visible in another container that uses the same volume, so this also searches for a running Redis.
  await refuseRunningRedis(folder);
  finishRestore(folder);
  await rm(join(folder, RESTORING), { recursive: true, force: true });
  const isThere = existsSync(join(folder, 'redis')) && readdirSync(join(folder, 'redis')).length > 0;
  if (isThere && !isReplacing)
    throw new Failure(`DATA_DIR ${folder} holds data. With --replace the backup takes its place, and the data is kept beside it.`);
  return folder;
}

/** Refuses the restore while a Redis serves the data of this folder. @throws Failure */
async function refuseRunningRedis(folder: string): Promise<void> {
  const socketPath = socketPathFor(folder);
  if (await isListening(socketPath))
    throw new Failure(
      `A Redis is running on ${folder}. Stop the service first. If none runs, an earlier one left it behind: redis-cli -s ${socketPath} shutdown`,
    );
}

/** The deletions of accounts that the old data in DATA_DIR has recorded. */
async function deletionsOfOldData(dataDir: string, { forgetsDeletions }: RestoreOptions): Promise<Tombstone[]> {
  if (!hasData(dataDir)) return [];
  const server = new PrivateRedis(dataDir, pino({ level: 'silent' }), ['--auto-aof-rewrite-percentage', '0']);
  try {
    await server.start();
    const redis = await answering({ socketPath: server.socketPath }, 'The data that is replaced', pino({ level: 'silent' }));
    return await readTombstones(redis).finally(() => redis.disconnect());
  } catch (error) {
    if (forgetsDeletions) return [];
    throw new Failure(
      `The data in ${dataDir} cannot be read, so the accounts that were deleted since the backup are not known: ${(error as Error).message}\n` +
        'Give the newest backup as --tombstones FILE, and --forget-deletions to go on.',
    );
  } finally {
    await server.stop();
  }
}

async function stageAndPutInPlace(
  dataDir: string,
  archive: Archive,
  manifest: Manifest,
  tombstones: readonly Tombstone[],
  { acceptsDrift, signal }: RestoreOptions,
): Promise<string[]> {
  const staged = join(dataDir, RESTORING);
  await mkdir(staged, { mode: 0o700 });
  await unpackData(archive.pieces(MEMBERS.data), staged, signal);
  const { redis, stop } = await startStaged(staged);
  let upgradedFrom: string | undefined;
  let deleted: number;
  let checked: CheckedData;
  try {
    upgradedFrom = await upgradeCopy(redis);
    await giveNewId(redis, staged);
    deleted = await applyAgain(redis, tombstones);
    checked = await checkData(redis, signal);
  } finally {
    await stop();
  }
  if (checked.counts.drift > 0 && !acceptsDrift)
    throw new Failure(
      `Nothing was restored: the data of the backup contradicts itself. --accept-drift restores it all the same.\n${driftText(checked)}`,
    );
  // Accounts that are deleted again are only closed at this stage. So the numbers of accounts and coins must still equal those in the
  // manifest.
  const lost = lossOf(checked, manifest);
  if (lost !== undefined) throw new Failure(`Nothing was restored: ${lost}`);
  await restoreSessionKeys(archive, dataDir);
  await giveToOwner(staged, dataDir);
  await syncAll(staged);
  signal.throwIfAborted();
  // A service in another container may have started after the first check.
  await refuseRunningRedis(dataDir);
  const suffix = `.before-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}Z`;
  const kept = ['redis', 'session-keys', DATA_ID_FILE].filter((name) => existsSync(join(dataDir, name)) && existsSync(join(staged, name)));
  putInPlace(dataDir, suffix);
  const { accounts = 0 } = checked.counts.checked;
  return [
    `Restored the data of ${manifest.at}: ${counted(accounts)}, ${checked.coins} coins, ${checked.counts.drift === 0 ? 'no' : checked.counts.drift} drift.`,
    ...(upgradedFrom === undefined ? [] : [`The data was of version ${upgradedFrom}, and is upgraded.`]),
    ...(deleted === 0 ? [] : [`Deleted ${counted(deleted)} again.`]),
    ...kept.map((name) => `The old data is in ${join(dataDir, name + suffix)}. Delete it when you are sure.`),
    'Coin operations, deletions of keys and sign-outs after the backup are undone: see docs/backup.md.',
  ];
}

function counted(accounts: number): string {
  return `${accounts} ${accounts === 1 ? 'account' : 'accounts'}`;
}

/**
 * The reason why the restored data does not have as many accounts and coins as the manifest says. An audit of the restored data alone would
 * not notice data that got lost on the way to Redis.
 */
function lossOf({ coins, counts }: CheckedData, { verified }: Manifest): string | undefined {
  if (verified === null) return undefined;
  const { accounts = 0 } = counts.checked;
  if (String(coins) === verified.coins && accounts === verified.accounts) return undefined;
  return `the backup says that it has ${verified.coins} coins in ${counted(verified.accounts)}, and ${coins} in ${counted(accounts)} were read.`;
}

/** Puts the keys that sign sessions beside the restored data, if the backup has them. */
async function restoreSessionKeys(archive: Archive, dataDir: string): Promise<void> {
  if (!archive.has(MEMBERS.sessionKeys)) return;
  const text = await archive.text(MEMBERS.sessionKeys);
  try {
    parseSessionKeys(text.trim());
  } catch {
    throw new Failure(`Nothing was restored: the ${MEMBERS.sessionKeys} of the backup cannot be read.`);
  }
  await writeFile(join(dataDir, RESTORING, 'session-keys'), text, { mode: 0o600, flag: 'wx' });
}

/**
 * Gives the restored data a new id, in Redis and in DATA_DIR. With the old id the service would take the data for an older state of its own
 * data.
 */
async function giveNewId(redis: Redis, staged: string): Promise<void> {
  const id = newDataId();
  await redis.set(DATA_ID_KEY, dataIdValue(id, 0, 0, 0));
  await writeFile(join(staged, DATA_ID_FILE), `${id}\n`, { mode: 0o600, flag: 'wx' });
}

/** Gives the files to the owner of DATA_DIR, because after a restore by root the user of the service could not open them. */
async function giveToOwner(staged: string, dataDir: string): Promise<void> {
  const { uid, gid } = await stat(dataDir);
  if (process.getuid?.() !== 0 || uid === 0) return;
  await chown(staged, uid, gid);
  for (const name of (await readdir(staged, { recursive: true })) as string[]) await chown(join(staged, name), uid, gid);
}
