import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Archive, ArchiveWriter, DamagedBackup } from '../../../src/commands/backup/archive.ts';
import { MEMBERS } from '../../../src/commands/backup/manifest.ts';
import { BLOCK_BYTES, createTarHeader, readTarHeader } from '../../../src/commands/backup/tar.ts';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'coinop-archive-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const AT = Date.UTC(2026, 10, 22, 16);

/** 700 bytes in two pieces, so that a block ends inside a piece. */
const DATA = [Buffer.alloc(600, 'a'), Buffer.alloc(100, 'b')];

async function written(): Promise<string> {
  const path = join(folder, 'backup.tar');
  const archive = await ArchiveWriter.create(path, AT);
  expect(await archive.add('dump.rdb', DATA)).toEqual({
    bytes: 700,
    // printf 'a%.0s' {1..600} and 'b%.0s' {1..100} through sha256sum
    sha256: execFileSync('sha256sum', { input: Buffer.concat(DATA) })
      .toString()
      .slice(0, 64),
  });
  await archive.add('manifest.json', [Buffer.from('{"service":"coinop"}\n')]);
  await archive.add('empty', []);
  await archive.end();
  return path;
}

async function reasonOf(path: string): Promise<string> {
  try {
    const archive = await Archive.open(path);
    await archive.verify().finally(() => archive.close());
    return 'whole';
  } catch (error) {
    expect(error).toBeInstanceOf(DamagedBackup);
    return (error as Error).message;
  }
}

test('the members of an archive can be read back, and only its owner may open it', async () => {
  const path = await written();
  const archive = await Archive.open(path);
  await archive.verify();
  expect(await archive.text('dump.rdb')).toBe('a'.repeat(600) + 'b'.repeat(100));
  expect(await archive.text('manifest.json')).toBe('{"service":"coinop"}\n');
  expect(await archive.text('empty')).toBe('');
  expect([archive.has('empty'), archive.has('session-keys')]).toEqual([true, false]);
  await expect(archive.text('session-keys')).rejects.toThrow('It has no session-keys.');
  await archive.close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('tar and sha256sum read an archive without coinop', async () => {
  const path = await written();
  expect(execFileSync('tar', ['tf', path]).toString()).toBe('dump.rdb\nmanifest.json\nempty\nSHA256SUMS\n');
  execFileSync('tar', ['xf', path, '-C', folder]);
  expect(execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder }).toString()).toBe(
    'dump.rdb: OK\nmanifest.json: OK\nempty: OK\n',
  );
});

test('an existing file is not overwritten', async () => {
  const path = join(folder, 'other.tar');
  writeFileSync(path, 'kept');
  await expect(ArchiveWriter.create(path, AT)).rejects.toThrow('EEXIST');
  expect(readFileSync(path, 'utf8')).toBe('kept');
});

test('an archive that was cut off anywhere is refused', async () => {
  const bytes = readFileSync(await written());
  const cut = join(folder, 'cut.tar');
  for (let length = 0; length < bytes.length - BLOCK_BYTES; length += 37) {
    writeFileSync(cut, bytes.subarray(0, length));
    expect([length, await reasonOf(cut)]).not.toEqual([length, 'whole']);
  }
});

test('a changed bit in a header or in a member is found', async () => {
  const bytes = readFileSync(await written());
  const changed = join(folder, 'changed.tar');
  // After the last checksum there are only zeros, which belong to no member.
  const end = bytes.lastIndexOf('empty\n') + 'empty\n'.length;
  let found = 0;
  for (let at = 0; at < end; at += 11) {
    // Zeros between two members belong to neither.
    if (bytes[at] === 0) continue;
    const copy = Buffer.from(bytes);
    copy[at]! ^= 1;
    writeFileSync(changed, copy);
    expect([at, await reasonOf(changed)]).not.toEqual([at, 'whole']);
    found++;
  }
  expect(found).toBeGreaterThan(80);
});

test.each([
  ['an empty file', Buffer.alloc(0), 'It is cut off.'],
  ['another kind of file', Buffer.alloc(4096, 'REDIS0010'), 'It is no backup of coinop.'],
  ['empty blocks', Buffer.alloc(4096), 'It has no SHA256SUMS: it is no backup of coinop, or not a whole one.'],
])('%s is refused', async (_, bytes, reason) => {
  const path = join(folder, 'other');
  writeFileSync(path, bytes);
  expect(await reasonOf(path)).toBe(reason);
});

test.each([
  ['a link', () => symlinkSync('/etc/passwd', join(folder, 'session-keys'))],
  ['a hard link', () => (writeFileSync(join(folder, 'a'), ''), linkSync(join(folder, 'a'), join(folder, 'session-keys')))],
  ['a folder', () => mkdirSync(join(folder, 'session-keys'))],
])('an archive with %s is refused', async (kind, make) => {
  const path = await written();
  make();
  // If a file has two names, tar writes the second one as a link.
  const names = kind === 'a hard link' ? ['a', 'session-keys'] : ['session-keys'];
  execFileSync('tar', ['--append', '--format=ustar', '-f', path, '-C', folder, ...names]);
  expect(await reasonOf(path)).toBe('A part of it is unreadable.');
});

test('members outside the folder are not extracted', async () => {
  const path = join(folder, 'backup.tar');
  const archive = await ArchiveWriter.create(path, AT);
  for (const name of ['../outside', '/outside', 'dump.rdb']) await archive.add(name, DATA);
  await archive.end();
  expect(await reasonOf(path)).toBe('whole');
  // A restore asks for members by name, and none of its names has a folder.
  expect(Object.values(MEMBERS).filter((name) => name.includes('/'))).toEqual([]);
});

test('a header holds the length of members of more than 8 GiB', () => {
  for (const bytes of [0, 511, 8 ** 11 - 1, 8 ** 11, 2 ** 50]) {
    expect(readTarHeader(createTarHeader('dump.rdb', bytes, AT))).toEqual({ name: 'dump.rdb', bytes });
  }
});
