import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { bringPackage, urlOf, type FetchedPackage } from '../../bench/peers/colyseus-uws-package.ts';

/** A package is fetched by an npm of the test's own, which notes what it is asked for and gives the tarball `thing.tgz`. */
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
  thing = { name: '@somebody/thing', version: '1.2.3', integrity };
  npmIs(`cp ${folder}/thing.tgz somebody-thing-1.2.3.tgz`);
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH']}`);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

function npmIs(script: string): void {
  const npm = join(folder, 'npm');
  writeFileSync(npm, `#!/bin/sh\necho "$1 $2" >> ${folder}/asked\n${script}\n`);
  chmodSync(npm, 0o755);
}

const bring = (wanted = thing): Promise<void> => bringPackage(wanted, undefined, packages);

test('a package is fetched once, and can be imported', async () => {
  await bring();
  await bring();
  expect(readFileSync(join(folder, 'asked'), 'utf8')).toBe('pack @somebody/thing@1.2.3\n');
  expect(await import(urlOf(thing, 'index.mjs', packages))).toMatchObject({ answer: 42 });
  expect(readdirSync(packages)).toEqual(['somebody-thing-1.2.3']);
});

test('two runs that fetch it at the same time both have it', async () => {
  await Promise.all([bring(), bring()]);
  expect(readdirSync(packages)).toEqual(['somebody-thing-1.2.3']);
});

test.each([
  ['npm ERR!', '9.2'],
  ['npm error', '11'],
])('a registry that cannot be reached is told in a line of npm ("%s", as in %s), and nothing is left behind', async (prefix) => {
  const report = [
    'code ENOTFOUND',
    'syscall getaddrinfo',
    'errno ENOTFOUND',
    'network request to https://registry.example failed',
    'network This is',
  ];
  npmIs(`${report.map((line) => `echo '${prefix} ${line}' >&2`).join('\n')}\nexit 1`);
  await expect(bring()).rejects.toThrow(
    /^@somebody\/thing 1\.2\.3 cannot be fetched: npm: network request to https:\/\/registry\.example failed$/,
  );
  expect(readdirSync(packages)).toEqual([]);
});

test('a tarball other than the one asked for is refused before it is unpacked', async () => {
  await expect(bring({ ...thing, integrity: 'sha512-other' })).rejects.toThrow(
    `cannot be fetched: its integrity is ${thing.integrity} instead of sha512-other`,
  );
  expect(readdirSync(packages)).toEqual([]);
});

test('a run that is stopped while it fetches leaves nothing behind', async () => {
  npmIs('exec sleep 60');
  const stopping = new AbortController();
  const brought = bringPackage(thing, stopping.signal, packages);
  await expect.poll(() => existsSync(join(folder, 'asked'))).toBe(true);
  stopping.abort();
  await expect(brought).rejects.toThrow('aborted');
  expect(readdirSync(packages)).toEqual([]);
});
