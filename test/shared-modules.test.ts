import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('modules that test files share register no hook: only the first file of a process would run it', () => {
  const modules = globSync('test/**/*.ts', { cwd: new URL('..', import.meta.url).pathname }).filter((path) => !path.endsWith('.test.ts'));
  expect(modules).toContain('test/harness.ts');
  const isHook = /^(?:before|after)(?:All|Each)\(/m;
  const found = modules.filter((path) => isHook.test(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')));
  expect(found).toEqual([]);
});
