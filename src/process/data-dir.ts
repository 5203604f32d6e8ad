import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config.ts';

/**
 * Makes DATA_DIR where it is needed: for the private Redis, or for a session key made in development.
 * @returns why it cannot be a folder that we may write to, if it cannot
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

/** mkdir's own `recursive` never returns where a file system says of every folder that it is not there, as /proc does. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}
