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
  const npm = join(folder, 'npm');
  writeFileSync(npm, `#!/bin/sh\necho "$1 $2" >> ${folder}/npm-calls\n${script}\n`);
  chmodSync(npm, 0o755);
}

const fetchThing = (wanted = thing): Promise<void> => fetchPackage(wanted, undefined, packages);

test('a package is fetched once and can be imported', async () => {
  await fetchThing();
  await fetchThing();
  expect(readFileSync(join(folder, 'npm-calls'), 'utf8')).toBe('pack @scope/thing@1.2.3\n');
  expect(await import(urlOf(thing, 'index.mjs', packages))).toMatchObject({ answer: 42 });
  expect(readdirSync(packages)).toEqual(['scope-thing-1.2.3']);
});

test('two concurrent runs can fetch the same package', async () => {
  await Promise.all([fetchThing(), fetchThing()]);
  expect(readdirSync(packages)).toEqual(['scope-thing-1.2.3']);
});

test.each([
  ['npm ERR!', '9.2'],
  ['npm error', '11'],
])('an unreachable registry is reported with a line of npm ("%s", as of npm %s), and no files are left behind', async (prefix) => {
  const report = [
    'code ENOTFOUND',
    'syscall getaddrinfo',
    'errno ENOTFOUND',
    'network request to https://registry.example failed',
    'network This is',
  ];
  npmIs(`${report.map((line) => `echo '${prefix} ${line}' >&2`).join('\n')}\nexit 1`);
  await expect(fetchThing()).rejects.toThrow(
    /^@scope\/thing 1\.2\.3 cannot be fetched: npm: network request to https:\/\/registry\.example failed$/,
  );
  expect(readdirSync(packages)).toEqual([]);
});

test('a tarball with another hash is refused before it is unpacked', async () => {
  await expect(fetchThing({ ...thing, integrity: 'sha512-other' })).rejects.toThrow(
    `cannot be fetched: its integrity is ${thing.integrity} instead of sha512-other`,
  );
  expect(readdirSync(packages)).toEqual([]);
});

test('an aborted fetch leaves no files behind', async () => {
  npmIs('exec sleep 60');
  const stopping = new AbortController();
  const fetching = fetchPackage(thing, stopping.signal, packages);
  await expect.poll(() => existsSync(join(folder, 'npm-calls'))).toBe(true);
  stopping.abort();
  await expect(fetching).rejects.toThrow('aborted');
  expect(readdirSync(packages)).toEqual([]);
});
