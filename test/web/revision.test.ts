import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { revisionOf } from '../../src/web/revision.ts';

const folder = mkdtempSync(join(tmpdir(), 'coinop-revision-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** git sorts `a.ts` before the folder `a`, and `a0` after it. */
const sources = { 'src/a/b.ts': 'b', 'src/a.ts': 'é', 'src/a0': '', 'src/z.lua': 'return 1\n' };
/** The output of `git write-tree` for these files (git 2.39). */
const OF_SOURCES = 'src-9b618e47bd61';

const commit = 'c40a2dcfb3d16fc52c2d83ba064504eefba43ae3';
const packed = `# pack-refs with: peeled fully-peeled sorted\n${'1'.repeat(40)} refs/heads/a\n${commit} refs/heads/b\n^${'2'.repeat(40)}\n`;

test.each<[string, files: Record<string, string>, revision: string]>([
  ['without a checkout is the hash that git gives the folder src', {}, OF_SOURCES],
  ['of a checkout is its commit', { '.git/HEAD': 'ref: refs/heads/a/b\n', '.git/refs/heads/a/b': `${commit}\n` }, 'c40a2dcfb3d1'],
  ['of a packed branch is its commit', { '.git/HEAD': 'ref: refs/heads/b\n', '.git/packed-refs': packed }, 'c40a2dcfb3d1'],
  ['of a detached HEAD is its commit', { '.git/HEAD': `${commit}\n` }, 'c40a2dcfb3d1'],
  [
    'of a linked work tree is that of the branch in the folder of the main one',
    { 'main/worktrees/w/HEAD': 'ref: refs/heads/b\n', 'main/worktrees/w/commondir': '../..\n', 'main/refs/heads/b': `${commit}\n` },
    'c40a2dcfb3d1',
  ],
  ['of a checkout without a commit is the hash of src', { '.git/HEAD': 'ref: refs/heads/.invalid\n' }, OF_SOURCES],
  ['is not read from another folder', { '.git/HEAD': 'ref: refs/heads/../../secret\n' }, OF_SOURCES],
  ['of a damaged checkout is the hash of src', { '.git/HEAD': 'nonsense' }, OF_SOURCES],
])('the revision %s', (_, files, revision) => {
  const root = mkdtempSync(join(folder, 'checkout-'));
  for (const [path, text] of Object.entries({ ...sources, ...files })) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  // git knows no empty folders.
  mkdirSync(join(root, 'src/empty'));
  if ('main/worktrees/w/HEAD' in files) writeFileSync(join(root, '.git'), `gitdir: ${join(root, 'main', 'worktrees', 'w')}\n`);
  expect(revisionOf(root)).toBe(revision);
  writeFileSync(join(root, 'src/a/b.ts'), 'B');
  expect(revisionOf(root) === revision).toBe(revision !== OF_SOURCES);
});
