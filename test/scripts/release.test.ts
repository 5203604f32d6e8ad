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

const CHANGELOG = '# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 1.0.0 - 2026-11-21\n\n- The first.\n';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-release-'));
  for (const path of ['bin', 'docs', 'bench/results', 'src/clients/python', 'src/clients/csharp', 'src/clients/gdscript/addons/coinop'])
    mkdirSync(join(folder, path), { recursive: true });
  const files = {
    'bin/npm': NPM,
    'package.json': '{ "version": "1.0.0" }\n',
    'package-lock.json': '{ "version": "1.0.0" }\n',
    'CHANGELOG.md': CHANGELOG,
    'docs/upgrading.md': '# Upgrading\n\n## From 1.0.0 to the unreleased version\n\nNothing to do.\n',
    'bench/results/results.md': 'old figures\n',
    'src/clients/gdscript/addons/coinop/plugin.cfg': '[plugin]\nversion="1.0.0"\n',
    'src/clients/python/pyproject.toml': '[project]\nversion = "1.0.0"\n',
    'src/clients/csharp/package.json': '{ "version": "1.0.0" }\n',
    '.gitignore': 'bin\n.cache\nasked\nfailing\n',
    failing: '',
  };
  for (const [file, text] of Object.entries(files)) write(file, text);
  chmodSync(join(folder, 'bin/npm'), 0o755);
  git('init', '--quiet');
  commit('Begin');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (file: string, text: string): void => writeFileSync(join(folder, file), text);
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
const ada = { GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'a@b.example', GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'a@b.example' };
function git(...words: string[]): string {
  return spawnSync('git', words, { cwd: folder, encoding: 'utf8', env: inheritedEnvironment(ada) }).stdout.trim();
}

function commit(title: string): void {
  git('add', '--all');
  git('commit', '--quiet', '--message', title);
}

function release(...words: string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(project, 'scripts/release.mjs'), ...words], {
    cwd: folder,
    encoding: 'utf8',
    env: inheritedEnvironment({ ...ada, PATH: `${join(folder, 'bin')}:${process.env['PATH']}` }),
  });
  return { code: status, stdout, stderr };
}

/** The steps, as `--dry-run` prints them. */
const steps = (): string[] => [...release('1.1.0', '--dry-run').stdout.matchAll(/^npm run (.*)$/gm)].map(([, step]) => step!);
const asked = (): string[] => read('asked').trim().split('\n');

test('the steps of a release are the tests and proofs of package.json, and the bench', () => {
  const partly = ['test:one', 'test:watch', 'test:coverage', 'prove:next'];
  const expected = scripts.filter((name) => /^(test|prove)(:|$)/.test(name) && !partly.includes(name));
  expect(expected.length).toBeGreaterThan(10);
  expect(steps().toSorted()).toEqual([...expected, 'bench -- --publish'].toSorted());
});

test('a release runs each step, then writes the version, the heading of the changelog, the commit and the tag', () => {
  const { code, stdout } = release('1.1.0');
  expect(code).toBe(0);
  expect(asked()).toEqual(steps());
  expect([...stdout.matchAll(/^(.*) … passed after \d+ s$/gm)].map(([, step]) => step)).toEqual(steps());
  expect(stdout).toMatch(/git push origin HEAD v1\.1\.0\n$/);
  const today = new Date().toISOString().slice(0, 10);
  const written = {
    'package.json': '{ "version": "1.1.0" }',
    'package-lock.json': '{ "version": "1.1.0" }',
    'CHANGELOG.md': expect.stringContaining(`## Unreleased\n\n## 1.1.0 - ${today}\n\n### Added\n\n- A thing.\n\n## 1.0.0 - `),
    'docs/upgrading.md': expect.stringContaining('## From 1.0.0 to 1.1.0\n'),
    'bench/results/results.md': 'figures',
    'src/clients/gdscript/addons/coinop/plugin.cfg': '[plugin]\nversion="1.1.0"',
    'src/clients/python/pyproject.toml': '[project]\nversion = "1.1.0"',
    'src/clients/csharp/package.json': '{ "version": "1.1.0" }',
  };
  for (const [file, text] of Object.entries(written)) expect(git('show', `v1.1.0:${file}`)).toEqual(text);
  const state = [git('log', '-1', '--format=%s'), git('status', '--porcelain'), git('cat-file', '-t', 'v1.1.0')];
  expect(state).toEqual(['Release 1.1.0', '', 'tag']);
});

test('a release stops at the first failure, goes on with that step on the same commit, and begins again on another commit', () => {
  const before = steps().slice(0, steps().indexOf('prove:audit'));
  const failAtAudit = (): ReturnType<typeof release> => {
    write('failing', 'prove:audit\n');
    const failed = release('1.1.0');
    expect([failed.code, git('tag'), git('status', '--porcelain')]).toEqual([1, '', '']);
    expect(asked()).toEqual([...before, 'prove:audit']);
    write('failing', '');
    write('asked', '');
    return failed;
  };
  const { stdout, stderr } = failAtAudit();
  expect(stdout).toMatch(/prove:audit … failed after \d+ s\n$/);
  expect(stderr).toMatch(/output of prove:audit\n[^]*Find the cause with `npm run prove:audit`/);
  write('mended', '');
  commit('Mend');
  failAtAudit();
  const again = release('1.1.0');
  expect(again.code).toBe(0);
  for (const step of before) expect(again.stdout).toContain(`${step} … passed before, on this commit\n`);
  expect(asked()).toEqual(steps().slice(before.length));
});

test.each<[title: string, version: string, problem: RegExp, prepare?: () => void]>([
  ['a version that is none', 'v1.1', /^Name the version/],
  ['an older version', '0.9.9', /^0\.9\.9 is not newer/],
  ['a version with a tag', '1.1.0', /^The tag v1\.1\.0 exists already/, () => git('tag', 'v1.1.0')],
  ['a changed tree', '1.1.0', /^Commit these first: docs\/new\.md\.$/m, () => write('docs/new.md', '')],
  [
    'a changelog without an entry',
    '1.1.0',
    /^CHANGELOG\.md has no entry/m,
    () => write('CHANGELOG.md', CHANGELOG.replace('- A thing.', '')),
  ],
])('it runs nothing for %s, and --dry-run says so', (_, version, problem, prepare = () => {}) => {
  prepare();
  const { code, stdout, stderr } = release(version);
  expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(problem)]);
  const dry = release(version, '--dry-run');
  expect([dry.code, dry.stdout]).toEqual([0, expect.stringMatching(/^npm run test\n[^]*\nwould stop: /)]);
  expect(() => read('asked')).toThrow('ENOENT');
});
