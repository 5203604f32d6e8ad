import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What `./data` holds: the data of the user's own service, if `npm start` has run here. */
export interface UserData {
  /** The user's service runs, and writes its own data. */
  readonly isServed: boolean;
  /** A line for each file and folder, which every write changes. */
  readonly files: readonly string[];
}

const folder = fileURLToPath(new URL('../data', import.meta.url));

export function stateOfUserData(): UserData {
  const names = existsSync(folder) ? ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()] : [];
  return {
    isServed: readFileSync('/proc/net/unix', 'utf8').includes(join(folder, 'redis.sock')),
    files: names.map((name) => {
      const { size, ino, mtimeMs } = lstatSync(join(folder, name));
      return `${name} ${size} ${ino} ${mtimeMs}`;
    }),
  };
}
