import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { DATA_ID_FORMAT } from '../redis/data/data-id.ts';
import type { DataMemory, Newest } from '../redis/data/known-data.ts';
import { makeFolder } from './data-dir.ts';

/** The name of the file in DATA_DIR with the id of the data that the service last had. */
export const DATA_ID_FILE = 'data-id';

/**
 * The name of the file in DATA_DIR that says for how long the data had been served when the services of DATA_DIR last saw it. From this
 * file a start notices that data was rolled back.
 */
const HEARTBEATS_FILE = 'data-heartbeats';

const UNKNOWN: Newest = { heartbeats: {}, times: {} };

/**
 * Reads and writes the files `data-id` and `data-heartbeats` in DATA_DIR. They tell a starting process which data the service had, and for
 * how long that data had been served. Several processes and services may use the same files.
 */
export class DataIdFile implements DataMemory {
  readonly #folder: string;
  readonly #log: Logger;
  /**
   * The heartbeats (serving time of the data) that `remember` last got, as text, to notice a change. `#unwritten` holds those that are not
   * in the file yet.
   */
  #remembered = '';
  #unwritten: { readonly id: string; readonly newest: Newest } | undefined;
  #writing: Promise<void> | undefined;
  #hasWarned = false;

  constructor(dataDir: string, log: Logger) {
    this.#folder = dataDir;
    this.#log = log;
  }

  read(): ReturnType<DataMemory['read']> {
    const id = readDataId(this.#folder);
    return { id, newest: id === undefined ? UNKNOWN : readNewest(this.#folder, id) };
  }

  write(id: string): void {
    const file = join(this.#folder, DATA_ID_FILE);
    const text = `${id}\n`;
    try {
      makeFolder(this.#folder);
      if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
      // The text is flushed, because it must be on disk before the rename. If the file were empty after a power cut, lost data would look
      // like a first start.
      writeFileSync(draftOf(file), text, { mode: 0o600, flush: true });
      renameSync(draftOf(file), file);
    } catch (error) {
      this.#warn(file, error);
    }
  }

  remember(id: string, newest: Newest): void {
    const heartbeats = JSON.stringify({ id, heartbeats: newest.heartbeats });
    if (heartbeats === this.#remembered) return;
    this.#remembered = heartbeats;
    this.#unwritten = { id, newest };
    this.#writing ??= this.#writeNewest();
  }

  async written(): Promise<void> {
    await this.#writing;
  }

  /**
   * Writes the serving time of the data to its file, about once a second. The write is asynchronous and not synced to the disk. After a
   * power cut the file may be some seconds old, and a start then compares the data with an older serving time.
   */
  async #writeNewest(): Promise<void> {
    const file = join(this.#folder, HEARTBEATS_FILE);
    for (let next = this.#unwritten; next !== undefined; next = this.#unwritten) {
      this.#unwritten = undefined;
      try {
        const text = joined(await readFile(file, 'utf8').catch(() => ''), next);
        if (text === undefined) continue;
        await writeFile(draftOf(file), text, { mode: 0o600 });
        await rename(draftOf(file), file);
      } catch (error) {
        this.#warn(file, error);
      }
    }
    this.#writing = undefined;
  }

  /** Warns once, and goes on: a read-only file system must not keep the service from starting. Only the process remembers the data then. */
  #warn(file: string, error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const message = 'DATA_DIR cannot be written: after a restart this service would not notice that Redis lost its data';
    this.#log.warn({ file, reason: (error as Error).message }, message);
  }
}

/** The temporary file that a process writes before it renames it. Each process has its own draft. */
const draftOf = (file: string): string => `${file}.${process.pid}`;

interface Heartbeats extends Newest {
  /** The id of the data. Heartbeats of data with another id are ignored: restored data has a new id, and must not be compared with them. */
  readonly id: string;
}

function heartbeatsIn(text: string): Heartbeats | undefined {
  try {
    const { id, heartbeats = {}, times = {} } = JSON.parse(text) as Partial<Heartbeats>;
    const isWhole = [heartbeats, times].every((record) => Object.values(record).every(Number.isSafeInteger));
    return typeof id === 'string' && isWhole ? { id, heartbeats, times } : undefined;
  } catch {
    return undefined;
  }
}

/** The text of the file with the newer heartbeats added. Undefined: the file already has all of them, because another process wrote it. */
function joined(text: string, { id, newest }: { readonly id: string; readonly newest: Newest }): string | undefined {
  const kept = heartbeatsIn(text);
  if (kept?.id !== id) return JSON.stringify({ id, ...newest } satisfies Heartbeats);
  const newer = Object.entries(newest.heartbeats).filter(([key, heartbeat]) => heartbeat > (kept.heartbeats[key] ?? 0));
  if (newer.length === 0) return undefined;
  const times = newer.map(([key]) => [key, newest.times[key] ?? 0] as const);
  return JSON.stringify({
    id,
    heartbeats: { ...kept.heartbeats, ...Object.fromEntries(newer) },
    times: { ...kept.times, ...Object.fromEntries(times) },
  } satisfies Heartbeats);
}

/** For how long the data with this id had been served when the services of DATA_DIR last saw it. */
export function readNewest(dataDir: string, id: string): Newest {
  try {
    const found = heartbeatsIn(readFileSync(join(dataDir, HEARTBEATS_FILE), 'utf8'));
    return found?.id === id ? found : UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}

/** The id in `data-id` of DATA_DIR. Undefined if the file does not exist, or if it has no id. */
export function readDataId(dataDir: string): string | undefined {
  try {
    const id = readFileSync(join(dataDir, DATA_ID_FILE), 'utf8').trim();
    return DATA_ID_FORMAT.test(id) ? id : undefined;
  } catch {
    return undefined;
  }
}
