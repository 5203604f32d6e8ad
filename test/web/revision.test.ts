import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { revisionOf } from '../../src/web/revision.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-revision-'));
  mkdirSync(join(folder, 'src', 'a'), { recursive: true });
  mkdirSync(join(folder, 'src', 'empty'));
  // git sorts `a.ts` before the folder `a`, and `a0` after it.
  for (const [name, text] of Object.entries({ 'a/b.ts': 'b', 'a.ts': 'é', a0: '', 'z.lua': 'return 1\n' }))
    writeFileSync(join(folder, 'src', name), text);
});
afterAll(() => rmSync(folder, { recursive: true }));

const commit = 'c40a2dcfb3d16fc52c2d83ba064504eefba43ae3';
const git = (files: Record<string, string>, at = '.git'): string => {
  const root = mkdtempSync(join(folder, 'checkout-'));
  cpSync(join(folder, 'src'), join(root, 'src'), { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, at, path, '..'), { recursive: true });
    writeFileSync(join(root, at, path), text);
  }
  return root;
};
/** The output of `git write-tree` for the files above (git 2.39). */
const ofSource = 'src-9b618e47bd61';

test('without a checkout the revision is the hash that git gives the folder src', () => {
  expect(revisionOf(folder)).toBe(ofSource);
  const changed = git({});
  writeFileSync(join(changed, 'src', 'a', 'b.ts'), 'B');
  expect(revisionOf(changed)).toMatch(/^src-[\da-f]{12}$/);
  expect(revisionOf(changed)).not.toBe(ofSource);
});

test('the revision of a checkout is its commit, on a branch, on a packed branch, or with a detached HEAD', () => {
  expect(revisionOf(git({ HEAD: 'ref: refs/heads/a/b\n', 'refs/heads/a/b': `${commit}\n` }))).toBe('c40a2dcfb3d1');
  const packed = `# pack-refs with: peeled fully-peeled sorted\n${'1'.repeat(40)} refs/heads/a\n${commit} refs/heads/b\n^${'2'.repeat(40)}\n`;
  expect(revisionOf(git({ HEAD: 'ref: refs/heads/b\n', 'packed-refs': packed }))).toBe('c40a2dcfb3d1');
  expect(revisionOf(git({ HEAD: `${commit}\n` }))).toBe('c40a2dcfb3d1');
});

test('a linked work tree has its HEAD in the folder of the main one, and its branch in their shared part', () => {
  const root = git(
    { 'worktrees/w/HEAD': 'ref: refs/heads/b\n', 'worktrees/w/commondir': '../..\n', 'refs/heads/b': `${commit}\n` },
    'of-the-first',
  );
  writeFileSync(join(root, '.git'), `gitdir: ${join(root, 'of-the-first', 'worktrees', 'w')}\n`);
  expect(revisionOf(root)).toBe('c40a2dcfb3d1');
});

test('if the commit of a checkout is not found, its revision is the hash of src', () => {
  expect(revisionOf(git({ HEAD: 'ref: refs/heads/.invalid\n' }))).toBe(ofSource);
  expect(revisionOf(git({ HEAD: 'ref: refs/heads/../../secret\n' }))).toBe(ofSource);
  expect(revisionOf(git({ HEAD: 'nonsense' }))).toBe(ofSource);
});

test('finding the revision of this project costs little time at a start', () => {
  const root = mkdtempSync(join(folder, 'whole-'));
  symlinkSync(fileURLToPath(new URL('../../src', import.meta.url)), join(root, 'src'));
  const times = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    expect(revisionOf(root)).toMatch(/^src-/);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  // 10 to 16 ms of CPU on an idle machine.
  expect(Math.min(...times)).toBeLessThan(60);
});
