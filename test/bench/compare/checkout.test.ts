import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { UsageError } from '../../../bench/arguments.ts';
import { layOut } from '../../../bench/compare/checkout.ts';

/** Files that came without their history have nothing to compare with. */
const hasHistory = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname }).status === 0;

const signal = new AbortController().signal;

test.skipIf(!hasHistory)('a commit is laid out as it was committed, with packages, and removed again', async () => {
  const checkout = await layOut('HEAD', signal);
  expect(checkout.commit).toMatch(/^[0-9a-f]{40}$/);
  expect(readFileSync(join(checkout.folder, 'src/main.ts'), 'utf8')).toContain('listening on');
  expect(existsSync(join(checkout.folder, 'node_modules/ioredis/package.json'))).toBe(true);
  // Nothing of the working tree but its packages, which removing must not follow.
  expect(existsSync(join(checkout.folder, '.git'))).toBe(false);
  const isLinked = lstatSync(join(checkout.folder, 'node_modules')).isSymbolicLink();
  checkout.remove();
  expect(existsSync(checkout.folder)).toBe(false);
  if (isLinked) expect(existsSync(new URL('../../../node_modules/ioredis/package.json', import.meta.url))).toBe(true);
});

test.skipIf(!hasHistory).each([['no-such-branch'], ['--help'], ['HEAD:src'], ['']])(
  '%j is no commit, and is refused as a mistake in the order',
  async (name) => {
    await expect(layOut(name, signal)).rejects.toThrow(UsageError);
    await expect(layOut(name, signal)).rejects.toThrow(`--compare "${name}": `);
  },
);
