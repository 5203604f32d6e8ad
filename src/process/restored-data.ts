import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DATA_ID_FILE } from './data-id-file.ts';

/**
 * Puts restored data in the place of the old data. `npm run restore` makes the new data in DATA_DIR/restoring. Once this data is whole,
 * checked and on disk, it writes a journal. From then on, any process that finds the journal does the renames that are still missing. So a
 * crash between two renames never lets a service start on an empty folder.
 */

/** The name of the folder in DATA_DIR with restored data that is not in its final place yet. */
export const RESTORING = 'restoring';

const JOURNAL = 'restore.json';

interface Journal {
  /** The text that is appended to the names of replaced data and session keys. */
  readonly oldSuffix: string;
}

/** Whether DATA_DIR has data of a private Redis. */
export function hasData(dataDir: string): boolean {
  return existsSync(join(dataDir, 'redis')) || existsSync(join(dataDir, JOURNAL));
}

/** The names of folders and files in DATA_DIR that a restore replaces. */
const REPLACED = ['redis', 'session-keys', DATA_ID_FILE];

/** Whether a restore was interrupted after it wrote its journal, so that `finishRestore` has to do the remaining renames. */
export function isCutOff(dataDir: string): boolean {
  return existsSync(join(dataDir, JOURNAL));
}

/**
 * Moves the data of DATA_DIR/restoring into its place. The calling process has the lock of DATA_DIR, and no Redis runs on the folder.
 * @param oldSuffix the text that is appended to the names of the replaced data
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
 * Finishes a restore that was interrupted after it wrote its journal. The calling process has the lock of DATA_DIR.
 * @returns whether such a restore was found
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
 * Undoes the renames of `moveIn` when one of them fails, because new data together with old keys would not fit. A file that is a mount
 * point, such as a container's secret, cannot be renamed (EBUSY). If this function is interrupted by a crash, the journal is still there.
 * @param names of the restored files and folders
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

/** Waits until the directory entries of the files in a folder are on disk. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
