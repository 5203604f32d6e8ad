import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { DATA_ID_FORMAT } from '../redis/data-id.ts';
import type { DataMemory } from '../redis/known-data.ts';
import { makeFolder } from './data-dir.ts';

/** The file in DATA_DIR with the id of the data that the service had last. */
export const DATA_ID_FILE = 'data-id';

/** Beside it: the heartbeats that the data lost when it was rolled back, until an operator accepts the loss. */
const HEARTBEATS_FILE = 'data-heartbeats';

/** `DATA_DIR/data-id`: by this file a process that starts knows which data it had. Several processes and services may share the file. */
export class DataIdFile implements DataMemory {
  readonly #folder: string;
  readonly #log: Logger;

  constructor(dataDir: string, log: Logger) {
    this.#folder = dataDir;
    this.#log = log;
  }

  read(): ReturnType<DataMemory['read']> {
    const id = readDataId(this.#folder);
    return { id, heartbeats: id === undefined ? {} : this.#heartbeatsOf(id) };
  }

  write(id: string): void {
    this.#write(DATA_ID_FILE, `${id}\n`);
    try {
      rmSync(join(this.#folder, HEARTBEATS_FILE), { force: true });
    } catch {
      // `#write` has warned. A file that stays has another id, so it is ignored.
    }
  }

  writeHeartbeats(id: string, heartbeats: Readonly<Record<string, number>>): void {
    this.#write(HEARTBEATS_FILE, JSON.stringify({ id, heartbeats }));
  }

  /** Heartbeats of another id are ignored: restored data has a new id, and must not be compared with the old data's heartbeats. */
  #heartbeatsOf(id: string): Readonly<Record<string, number>> {
    try {
      const found = JSON.parse(readFileSync(join(this.#folder, HEARTBEATS_FILE), 'utf8')) as Heartbeats;
      return found.id === id ? found.heartbeats : {};
    } catch {
      return {};
    }
  }

  /** A read-only file system must not keep the service from starting: then only the process remembers the id. */
  #write(name: string, text: string): void {
    const file = join(this.#folder, name);
    const draft = `${file}.${process.pid}`;
    try {
      makeFolder(this.#folder);
      if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
      // On disk before the rename: with an empty file after a power cut, lost data would look like a first start.
      writeFileSync(draft, text, { mode: 0o600, flush: true });
      renameSync(draft, file);
    } catch (error) {
      const message = 'DATA_DIR cannot be written: after a restart this service would not notice that Redis lost its data';
      this.#log.warn({ file, reason: (error as Error).message }, message);
    }
  }
}

interface Heartbeats {
  readonly id: string;
  readonly heartbeats: Readonly<Record<string, number>>;
}

/** @returns undefined if there is no such file, or if it holds no id */
export function readDataId(dataDir: string): string | undefined {
  try {
    const id = readFileSync(join(dataDir, DATA_ID_FILE), 'utf8').trim();
    return DATA_ID_FORMAT.test(id) ? id : undefined;
  } catch {
    return undefined;
  }
}
