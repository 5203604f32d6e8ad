import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config.ts';
import { holdName } from './lock.ts';

/**
 * Creates DATA_DIR if the private Redis or a session key for development is kept there.
 * @returns the problem, as a list of one line, if the service cannot create the folder or write to it. Empty: no problem
 */
export function prepareDataDir(config: Config): string[] {
  if (config.REDIS_URL !== undefined && config.SESSION_KEYS !== undefined) return [];
  try {
    makeFolder(config.DATA_DIR);
    if (!statSync(config.DATA_DIR).isDirectory()) throw new Error('it is not a folder');
    accessSync(config.DATA_DIR, constants.W_OK | constants.X_OK);
    return [];
  } catch (error) {
    return [`DATA_DIR ${config.DATA_DIR} cannot be used: ${(error as Error).message}`];
  }
}

/**
 * Creates a folder and its missing parents one by one. mkdirSync with `recursive` never returns on a file system that answers ENOENT for
 * every new folder, such as /proc.
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/**
 * Locks DATA_DIR until the process ends, so that only one process at a time starts a private Redis in it.
 * @returns the folder's real path, and whether this process has the lock now
 */
export async function holdDataDir({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): Promise<{ folder: string; isHeld: boolean }> {
  const folder = realpathSync(DATA_DIR);
  const name = createHash('sha256').update(folder).digest('hex').slice(0, 32);
  return { folder, isHeld: (await holdName(`coinop:data:${name}`)) !== undefined };
}
