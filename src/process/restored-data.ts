import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DATA_ID_FILE } from './data-id-file.ts';

/**
 * Puts restored data in the place of the old data. `npm run restore` makes the new data in DATA_DIR/restoring, and writes a journal once
 * the data is whole, checked and on disk. From then on the restore counts as done: a process that finds the journal does the missing
 * renames. So a crash between two renames never lets a service start on an empty folder.
 */

/** The folder of data that is not in place yet, below DATA_DIR. */
export const RESTORING = 'restoring';

const JOURNAL = 'restore.json';

interface Journal {
  /** The suffix that the old data and the old session keys get. */
  readonly oldSuffix: string;
}

/** Whether DATA_DIR holds data of a private Redis. */
export function hasData(dataDir: string): boolean {
  return existsSync(join(dataDir, 'redis')) || existsSync(join(dataDir, JOURNAL));
}

/** Folders and files that a restore replaces, below DATA_DIR. */
const REPLACED = ['redis', 'session-keys', DATA_ID_FILE];

/** Whether a restore was cut off after its journal was written, so that `finishRestore` has to do the rest. */
export function isCutOff(dataDir: string): boolean {
  return existsSync(join(dataDir, JOURNAL));
}

/**
 * Puts the data of DATA_DIR/restoring in its place. The process holds the lock of DATA_DIR, and no Redis runs there.
 * @param oldSuffix appended to the names of the replaced data
 * @throws Error if a rename fails. The old data is then back in its place, unless `isCutOff`
 */
export function putInPlace(dataDir: string, oldSuffix: string): void {
  const draft = join(dataDir, `${JOURNAL}.draft`);
  const file = openSync(draft, 'w', 0o600);
  writeSync(file, JSON.stringify({ oldSuffix } satisfies Journal));
  fsyncSync(file);
  closeSync(file);
  const restored = REPLACED.filter((name) => existsSync(join(dataDir, RESTORING, name)));
  renameSync(draft, join(dataDir, JOURNAL));
  syncFolder(dataDir);
  try {
    moveIn(dataDir, oldSuffix);
  } catch (error) {
    moveOut(dataDir, oldSuffix, restored);
    throw error;
  }
  dropJournal(dataDir);
}

/**
 * Finishes a restore that was cut off after its journal was written. The process holds the lock of DATA_DIR.
 * @returns whether there was one
 */
export function finishRestore(dataDir: string): boolean {
  if (!isCutOff(dataDir)) return false;
  const { oldSuffix } = JSON.parse(readFileSync(join(dataDir, JOURNAL), 'utf8')) as Journal;
  moveIn(dataDir, oldSuffix);
  dropJournal(dataDir);
  return true;
}

function moveIn(dataDir: string, oldSuffix: string): void {
  for (const name of REPLACED) {
    const [own, restored] = [join(dataDir, name), join(dataDir, RESTORING, name)];
    if (!existsSync(restored)) continue;
    if (existsSync(own)) renameSync(own, own + oldSuffix);
    renameSync(restored, own);
  }
}

/**
 * Undoes the renames of `moveIn` after one of them failed, because new data with old keys would be a mix. A file that is a mount point,
 * such as a container's secret, cannot be renamed (EBUSY). After a crash in the middle the journal is still there.
 * @param names the restored files and folders
 */
function moveOut(dataDir: string, oldSuffix: string, names: readonly string[]): void {
  for (const name of names) {
    const [own, restored] = [join(dataDir, name), join(dataDir, RESTORING, name)];
    if (!existsSync(restored)) renameSync(own, restored);
    if (!existsSync(own) && existsSync(own + oldSuffix)) renameSync(own + oldSuffix, own);
  }
  syncFolder(dataDir);
  rmSync(join(dataDir, JOURNAL));
  syncFolder(dataDir);
}

function dropJournal(dataDir: string): void {
  syncFolder(dataDir);
  rmSync(join(dataDir, RESTORING), { recursive: true, force: true });
  rmSync(join(dataDir, JOURNAL));
  syncFolder(dataDir);
}

/** Waits until the names in a folder are on disk. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
