import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { finishRestore, hasData, isCutOff, putInPlace } from '../../../src/process/restored-data.ts';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'coinop-restored-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The places where data may be, with their contents. */
function state(): Record<string, string> {
  const names = ['redis', 'redis.before-x', 'restoring/redis', 'session-keys', 'session-keys.before-x', 'restoring/session-keys'];
  const textOf = (path: string): string =>
    readFileSync(path.endsWith('redis') || path.endsWith('redis.before-x') ? join(path, 'data') : path, 'utf8');
  return Object.fromEntries(names.filter((name) => existsSync(join(folder, name))).map((name) => [name, textOf(join(folder, name))]));
}

function data(name: string, text: string): void {
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, 'data'), text);
}

const DONE = { redis: 'new', 'redis.before-x': 'old', 'session-keys': 'new keys', 'session-keys.before-x': 'old keys' };

function before(): void {
  data('redis', 'old');
  data('restoring/redis', 'new');
  writeFileSync(join(folder, 'session-keys'), 'old keys');
  writeFileSync(join(folder, 'restoring/session-keys'), 'new keys');
}

test('restored data replaces the old data, which is kept', () => {
  before();
  putInPlace(folder, '.before-x');
  expect(state()).toEqual(DONE);
  expect(readdirSync(folder).toSorted()).toEqual(['redis', 'redis.before-x', 'session-keys', 'session-keys.before-x']);
});

test.each(['redis', 'session-keys'])('if %s cannot be renamed, all of the old data is in its place again', (name) => {
  before();
  // A file cannot replace a folder, and a folder cannot replace a file.
  const taken = join(folder, `${name}.before-x`);
  if (name === 'redis') writeFileSync(taken, '');
  else mkdirSync(taken);
  expect(() => putInPlace(folder, '.before-x')).toThrow(/ENOTDIR|EISDIR/);
  rmSync(taken, { recursive: true });
  const old = { redis: 'old', 'session-keys': 'old keys' };
  expect(state()).toEqual({ ...old, 'restoring/redis': 'new', 'restoring/session-keys': 'new keys' });
  expect([isCutOff(folder), finishRestore(folder)]).toEqual([false, false]);
});

const RENAMES = [
  ['redis', 'redis.before-x'],
  ['restoring/redis', 'redis'],
  ['session-keys', 'session-keys.before-x'],
  ['restoring/session-keys', 'session-keys'],
] as const;

test.each([0, 1, 2, 3, 4])('a restore that a crash cut off after %i of its four renames is finished', (renames) => {
  before();
  writeFileSync(join(folder, 'restore.json'), '{"oldSuffix":".before-x"}');
  for (const [from, to] of RENAMES.slice(0, renames)) renameSync(join(folder, from), join(folder, to));
  expect(hasData(folder)).toBe(true);
  expect(finishRestore(folder)).toBe(true);
  expect(state()).toEqual(DONE);
  expect(readdirSync(folder)).not.toContain('restore.json');
  expect(finishRestore(folder)).toBe(false);
});
