import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { settingNames } from '../src/config.ts';
import { NO_DATA_DIR } from './environment.ts';

const root = new URL('..', import.meta.url);
const filesOf = (pattern: string): string[] => globSync(pattern, { cwd: fileURLToPath(root) });
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8');

test('modules that test files share register no hook: only the first file of a process would run it', () => {
  const modules = filesOf('test/**/*.ts').filter((path) => !path.endsWith('.test.ts'));
  expect(modules).toContain('test/harness.ts');
  const isHook = /^(?:before|after)(?:All|Each)\(/m;
  const found = modules.filter((path) => isHook.test(textOf(path)));
  expect(found).toEqual([]);
});

test('waits have the patience of slow machines, and not the second that is the default of vi.waitFor and vi.waitUntil', () => {
  const found = filesOf('test/**/*.ts').filter((path) => {
    const text = textOf(path);
    const patient = /\bPATIENT,?\s*\)|timeout: \d+ \}\)\.catch/g;
    return [...text.matchAll(/\bvi\.wait(?:For|Until)\(/g)].length > [...text.matchAll(patient)].length;
  });
  expect(found).toEqual([]);
});

/** Files whose processes run no code of coinop, or in another root, and need exactly the variables that are written there. */
const EXACT = ['test/scripts/setup.test.ts', 'test/platforms/obstacles.ts', 'test/web/documents/languages.ts'];

test('environments and configurations come from environment.ts, so that no process reads the settings or the data of the user', () => {
  const isMade = /^(?:childEnvironment|inheritedEnvironment)\(/;
  // The type of an option, or its empty default.
  const isNone = /^(?:Readonly<)?Record<|^\{\}/;
  const found = filesOf('test/**/*.ts')
    .filter((path) => !EXACT.includes(path))
    .flatMap((path) =>
      [...textOf(path).matchAll(/\benv\??(?::| =) *(.*)/g)]
        .filter(([, value = '']) => !isMade.test(value) && !isNone.test(value))
        .map(([line]) => `${path}: ${line}`),
    );
  expect(found).toEqual([]);
  // These two test `readConfig` itself.
  const readers = filesOf('test/**/*.ts').filter((path) => /\breadConfig\(/.test(textOf(path)));
  expect(readers.toSorted()).toEqual(['test/config.test.ts', 'test/environment.ts', 'test/readme.test.ts']);
});

test('test processes have no setting of the user', () => {
  const given = Object.fromEntries(settingNames.filter((name) => name in process.env).map((name) => [name, process.env[name]]));
  expect(given).toEqual({ NODE_ENV: 'test', DATA_DIR: NO_DATA_DIR });
});
