import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inheritedEnvironment } from '../environment.ts';

/** Releases a made-up project with the real git. A script in place of npm writes down its arguments. */

const project = fileURLToPath(new URL('../..', import.meta.url));
const scripts = Object.keys((JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { scripts: object }).scripts);

/** Fails in the steps that the file `failing` names. Writes the version as npm does. */
const NPM = `#!/bin/sh
if [ "$1" = version ]; then
  sed -i "s/1\\.0\\.0/$2/" package.json package-lock.json
  exit
fi
shift 2
echo "$*" >>asked
echo "output of $*"
[ "$*" = 'bench -- --publish' ] && echo figures >bench/results/results.md
! grep -qxF -- "$*" failing
`;

const CHANGELOG = `# Changelog

## Unreleased

### Added

- A thing.

## 1.0.0 - 2026-11-21

- The first.
`;

let folder: string;
/** A fresh machine may have no git. Releases need one. */
const hasGit = spawnSync('git', ['--version']).status === 0;
const withGit = test.skipIf(!hasGit);

beforeEach(() => {
  if (!hasGit) return;
  folder = mkdtempSync(join(tmpdir(), 'coinop-release-'));
  for (const path of ['bin', 'docs', 'bench/results']) mkdirSync(join(folder, path), { recursive: true });
  write('bin/npm', NPM);
  chmodSync(join(folder, 'bin/npm'), 0o755);
  for (const file of ['package.json', 'package-lock.json']) write(file, '{ "version": "1.0.0" }\n');
  write('CHANGELOG.md', CHANGELOG);
  write('docs/upgrading.md', '# Upgrading\n\n## From 1.0.0 to the unreleased version\n\nNothing to do.\n');
  write('bench/results/results.md', 'old figures\n');
  write('.gitignore', 'bin\n.cache\nasked\nfailing\n');
  write('failing', '');
  git('init', '--quiet');
  commit('Begin');
});
afterEach(() => {
  if (hasGit) rmSync(folder, { recursive: true, force: true });
});

const write = (file: string, text: string): void => writeFileSync(join(folder, file), text);
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
const env = inheritedEnvironment(
  Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((who) => [
      [`GIT_${who}_NAME`, 'Ada'],
      [`GIT_${who}_EMAIL`, 'ada@example.com'],
    ]),
  ),
);

function git(...words: string[]): string {
  return spawnSync('git', words, { cwd: folder, encoding: 'utf8', env }).stdout.trim();
}

function commit(title: string): void {
  git('add', '--all');
  git('commit', '--quiet', '--message', title);
}

function release(...words: string[]): { code: number | null; stdout: string; stderr: string } {
  const path = `${join(folder, 'bin')}:${process.env['PATH']}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(project, 'scripts/release.mjs'), ...words], {
    cwd: folder,
    encoding: 'utf8',
    env: inheritedEnvironment({ ...env, PATH: path }),
  });
  return { code: status, stdout, stderr };
}

/** The steps, as `--dry-run` prints them. */
const steps = (): string[] => [...release('1.1.0', '--dry-run').stdout.matchAll(/^npm run (.*)$/gm)].map(([, step]) => step!);
const asked = (): string[] => read('asked').trim().split('\n');

withGit('its steps are the tests and proofs of package.json, and the bench', () => {
  const partly = ['test:one', 'test:watch', 'test:coverage', 'prove:next'];
  const expected = scripts.filter((name) => /^(test|prove)(:|$)/.test(name) && !partly.includes(name));
  expect(expected.length).toBeGreaterThan(10);
  expect(steps().toSorted()).toEqual([...expected, 'bench -- --publish'].toSorted());
});

withGit('it runs each step, then writes the version, the heading of the changelog, the commit and the tag', () => {
  const { code, stdout } = release('1.1.0');
  expect(code).toBe(0);
  expect(asked()).toEqual(steps());
  for (const step of asked()) expect(stdout).toContain(`${step} … passed after 0 s\n`);
  expect(stdout).toMatch(/git push origin HEAD v1\.1\.0\n$/);
  expect(JSON.parse(git('show', 'v1.1.0:package.json'))).toEqual({ version: '1.1.0' });
  expect(JSON.parse(git('show', 'v1.1.0:package-lock.json'))).toEqual({ version: '1.1.0' });
  const today = new Date().toISOString().slice(0, 10);
  expect(git('show', 'v1.1.0:CHANGELOG.md')).toContain(`## Unreleased\n\n## 1.1.0 - ${today}\n\n### Added\n\n- A thing.\n\n## 1.0.0 - `);
  expect(git('show', 'v1.1.0:docs/upgrading.md')).toContain('## From 1.0.0 to 1.1.0\n');
  expect(git('show', 'v1.1.0:bench/results/results.md')).toBe('figures');
  expect([git('log', '-1', '--format=%s'), git('status', '--porcelain'), git('cat-file', '-t', 'v1.1.0')]).toEqual([
    'Release 1.1.0',
    '',
    'tag',
  ]);
});

withGit('it stops at the first failure, says what to do, and goes on with that step on the same commit', () => {
  write('failing', 'prove:audit\n');
  const { code, stdout, stderr } = release('1.1.0');
  expect(code).toBe(1);
  expect(asked().at(-1)).toBe('prove:audit');
  expect(stdout).toMatch(/prove:audit … failed after 0 s\n$/);
  expect(stderr).toContain('output of prove:audit\n');
  expect(stderr).toContain('Find the cause with `npm run prove:audit`');
  expect([git('tag'), git('status', '--porcelain')]).toEqual(['', '']);

  write('failing', '');
  write('asked', '');
  const before = steps().slice(0, steps().indexOf('prove:audit'));
  const again = release('1.1.0');
  expect(again.code).toBe(0);
  for (const step of before) expect(again.stdout).toContain(`${step} … passed before, on this commit\n`);
  expect(asked()).toEqual(steps().slice(before.length));
});

withGit('after another commit all steps run again', () => {
  write('failing', 'prove:audit\n');
  release('1.1.0');
  write('failing', '');
  write('mended', '');
  commit('Mend');
  write('asked', '');
  expect(release('1.1.0').code).toBe(0);
  expect(asked()).toEqual(steps());
});

withGit.each<[string, string, () => void, RegExp]>([
  ['no version', '', () => {}, /^Name the version/],
  ['a version that is none', 'v1.1', () => {}, /^Name the version/],
  ['the present version', '1.0.0', () => {}, /^1\.0\.0 is not newer than 1\.0\.0/],
  ['an older version', '0.9.9', () => {}, /^0\.9\.9 is not newer/],
  ['a version with a tag', '1.1.0', () => git('tag', 'v1.1.0'), /^The tag v1\.1\.0 exists already/],
  ['a changed tree', '1.1.0', () => write('docs/new.md', ''), /^Commit these first: docs\/new\.md\.$/m],
  [
    'a changelog without an entry',
    '1.1.0',
    () => (write('CHANGELOG.md', CHANGELOG.replace('- A thing.', '')), commit('x')),
    /^CHANGELOG\.md has no entry/,
  ],
])('it runs nothing for %s', (_, version, prepare, problem) => {
  prepare();
  const { code, stdout, stderr } = release(version);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(problem);
});

withGit('--dry-run says what would stop the release, and runs nothing', () => {
  write('docs/new.md', '');
  const { code, stdout } = release('1.1.0', '--dry-run');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^npm run test\n[^]*\nwould stop: Commit these first: docs\/new\.md\.\n$/)]);
  expect(() => read('asked')).toThrow('ENOENT');
});
