import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/**
 * How restored data takes the place of the old. `npm run restore` makes the new data in DATA_DIR/restoring, and writes a journal once it is
 * whole, checked and on disk. From then on the restore counts as done: a process that finds the journal does the renames that are missing. So
 * a crash between two renames never lets a service start on an empty folder.
 */

/** The folder of data that is not in place yet, below DATA_DIR. */
export const RESTORING = 'restoring';

const JOURNAL = 'restore.json';

interface Journal {
  /** What the old data and the old session keys are called from then on. */
  readonly oldSuffix: string;
}

/** Whether DATA_DIR holds data of a private Redis. */
export function hasData(dataDir: string): boolean {
  return existsSync(join(dataDir, 'redis')) || existsSync(join(dataDir, JOURNAL));
}

/** Folders and files that a restore replaces, below DATA_DIR. */
const REPLACED = ['redis', 'session-keys'];

/**
 * Puts the data of DATA_DIR/restoring in its place. The process holds the lock of DATA_DIR, and no Redis runs there.
 * @param oldSuffix what is replaced gets this behind its name
 */
export function putInPlace(dataDir: string, oldSuffix: string): void {
  const draft = join(dataDir, `${JOURNAL}.draft`);
  const file = openSync(draft, 'w', 0o600);
  writeSync(file, JSON.stringify({ oldSuffix } satisfies Journal));
  fsyncSync(file);
  closeSync(file);
  renameSync(draft, join(dataDir, JOURNAL));
  syncFolder(dataDir);
  finishRestore(dataDir);
}

/**
 * Finishes a restore that was cut off after its journal was written. The process holds the lock of DATA_DIR.
 * @returns whether there was one
 */
export function finishRestore(dataDir: string): boolean {
  const journal = join(dataDir, JOURNAL);
  if (!existsSync(journal)) return false;
  const { oldSuffix } = JSON.parse(readFileSync(journal, 'utf8')) as Journal;
  for (const name of REPLACED) {
    const [own, restored] = [join(dataDir, name), join(dataDir, RESTORING, name)];
    if (!existsSync(restored)) continue;
    if (existsSync(own)) renameSync(own, own + oldSuffix);
    renameSync(restored, own);
  }
  syncFolder(dataDir);
  rmSync(join(dataDir, RESTORING), { recursive: true, force: true });
  rmSync(journal);
  syncFolder(dataDir);
  return true;
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
