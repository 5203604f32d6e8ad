import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { fetchPackage, urlOf, type FetchedPackage } from '../../bench/peers/colyseus-uws-package.ts';

/** The tests use a fake npm, which records its arguments and provides the tarball `thing.tgz`. */
let folder: string;
let packages: string;
let thing: FetchedPackage;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-fetched-'));
  packages = join(folder, 'packages');
  mkdirSync(join(folder, 'package'));
  writeFileSync(join(folder, 'package/index.mjs'), 'export const answer = 42;');
  spawnSync('tar', ['--create', '--gzip', '--file', 'thing.tgz', 'package'], { cwd: folder });
  const integrity = `sha512-${hash('sha512', readFileSync(join(folder, 'thing.tgz')), 'base64')}`;
  thing = { name: '@scope/thing', version: '1.2.3', integrity };
  npmIs(`cp ${folder}/thing.tgz scope-thing-1.2.3.tgz`);
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH']}`);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

function npmIs(script: string): void {
  writeFileSync(join(folder, 'npm'), `#!/bin/sh\necho "$1 $2" >> ${folder}/npm-calls\n${script}\n`);
  chmodSync(join(folder, 'npm'), 0o755);
}

const fetchThing = (signal?: AbortSignal): Promise<void> => fetchPackage(thing, signal, packages);

test('a package is fetched once, also by two concurrent runs, and can be imported', async () => {
  await Promise.all([fetchThing(), fetchThing()]);
  rmSync(join(folder, 'npm-calls'));
  await fetchThing();
  expect(existsSync(join(folder, 'npm-calls'))).toBe(false);
  expect(await import(urlOf(thing, 'index.mjs', packages))).toMatchObject({ answer: 42 });
  expect(readdirSync(packages)).toEqual(['scope-thing-1.2.3']);
});

test.each<[what: string, prepare: (stopping: AbortController) => unknown, message: string]>([
  [
    // Before npm 11 the prefix is "npm ERR!".
    'an unreachable registry',
    () =>
      npmIs(
        `for line in 'code ENOTFOUND' 'network request to https://registry.example failed'; do echo "npm error $line" >&2; done; exit 1`,
      ),
    '@scope/thing 1.2.3 cannot be fetched: npm: network request to https://registry.example failed',
  ],
  ['a tarball with another hash', () => (thing = { ...thing, integrity: 'sha512-other' }), 'instead of sha512-other'],
  [
    'the end of a run',
    (stopping) => {
      npmIs('exec sleep 60');
      void expect
        .poll(() => existsSync(join(folder, 'npm-calls')))
        .toBe(true)
        .then(() => stopping.abort());
    },
    'aborted',
  ],
])('%s ends the fetch, and no files are left behind', async (_, prepare, message) => {
  const stopping = new AbortController();
  prepare(stopping);
  await expect(fetchThing(stopping.signal)).rejects.toThrow(message);
  expect(readdirSync(packages)).toEqual([]);
});
