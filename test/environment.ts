import { fileURLToPath } from 'node:url';
import { readConfig, settingNames, type Config } from '../src/config.ts';

/**
 * What a test, a proof or a process of theirs knows of the machine. None of them may read the settings of the user who runs them, or the
 * data in `./data`, where that user's own service may run: so every environment and every configuration is made here, and
 * `test/shared-modules.test.ts` finds those that are not.
 */

/**
 * The DATA_DIR of a process or a service whose test names none. No folder can exist there: such a service cannot start, and such a tool
 * knows no data.
 */
export const NO_DATA_DIR = '/dev/null/no-data';

/** Number of databases of a Redis. In the Redis that all files share each test process has one of its own, with a user of its own. */
export const DATABASES = 16;

/** For NODE_OPTIONS: keeps the source files without their types. */
export const KEEPS_STRIPPED_TYPES = `--import=${new URL('stripped-types.mjs', import.meta.url).href}`;

/** NODE_COMPILE_CACHE: Node caches the compiled source files, which halves the CPU time of a start. */
export const COMPILE_CACHE = fileURLToPath(new URL('../.cache/compiled', import.meta.url));

/** The environment of a process that a test starts: only these settings. */
export function childEnvironment(settings: Readonly<Record<string, string>>): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    NODE_OPTIONS: KEEPS_STRIPPED_TYPES,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    DATA_DIR: NO_DATA_DIR,
    ...settings,
  };
}

/** The environment of a program of the machine, which may need more of the user's than PATH: HOME, a proxy, a locale. */
export function inheritedEnvironment(more: Readonly<Record<string, string>>): Record<string, string | undefined> {
  const own = Object.entries(process.env).filter(([name]) => !settingNames.includes(name));
  return { ...Object.fromEntries(own), DATA_DIR: NO_DATA_DIR, ...more };
}

/** Gives this process, and the processes that inherit its environment, no setting of the user's. vitest itself needs NODE_ENV. */
export function dropUserSettings(): void {
  for (const name of settingNames) delete process.env[name];
  Object.assign(process.env, { NODE_ENV: 'test', DATA_DIR: NO_DATA_DIR });
}

/** The configuration of a service, or of a part of one, inside a test's process. */
export function testConfig(settings: Readonly<Record<string, string>> = {}): Config {
  return readConfig({ DATA_DIR: NO_DATA_DIR, ...settings });
}
