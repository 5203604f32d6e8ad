import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { UsageError } from '../../../bench/arguments.ts';
import { exportCommit } from '../../../bench/compare/checkout.ts';

/** Comparisons need the git history, which a plain copy of the files lacks. */
const hasHistory = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname }).status === 0;

const signal = new AbortController().signal;

test.skipIf(!hasHistory)('a commit is exported with its packages and removed again', async () => {
  const { commit, folder, remove } = await exportCommit('HEAD', signal);
  expect(commit).toMatch(/^[0-9a-f]{40}$/);
  expect(readFileSync(join(folder, 'src/main.ts'), 'utf8')).toContain('listening on');
  expect(existsSync(join(folder, 'node_modules/ioredis/package.json'))).toBe(true);
  remove();
  expect(existsSync(folder)).toBe(false);
  // Only the packages are linked from the working tree, and remove() must not follow the link.
  expect(existsSync(new URL('../../../node_modules/ioredis/package.json', import.meta.url))).toBe(true);
});

test.skipIf(!hasHistory).each(['no-such-branch', '--help', 'HEAD:src', ''])('%j is not a commit and gives a usage error', async (name) => {
  const error = await exportCommit(name, signal).catch((thrown: Error) => thrown);
  expect(error).toBeInstanceOf(UsageError);
  expect(error).toMatchObject({ message: expect.stringContaining(`--compare "${name}": `) });
});
