import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Archive, ArchiveWriter, DamagedBackup } from '../../../src/apart/backup/archive.ts';
import { BLOCK_BYTES, createTarHeader, readTarHeader } from '../../../src/apart/backup/tar.ts';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'coinop-archive-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const AT = Date.UTC(2026, 10, 22, 16);

/** 700 bytes in two pieces, so that a block ends inside a piece. */
const DATA = [Buffer.alloc(600, 'a'), Buffer.alloc(100, 'b')];

async function written(): Promise<string> {
  const path = join(folder, 'backup.tar');
  const archive = await ArchiveWriter.create(path, AT);
  await archive.add('dump.rdb', DATA);
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

test('the members of an archive can be read back, also by tar and sha256sum, and only its owner may open it', async () => {
  const path = await written();
  const archive = await Archive.open(path);
  await archive.verify();
  expect([await archive.text('dump.rdb'), await archive.text('empty')]).toEqual(['a'.repeat(600) + 'b'.repeat(100), '']);
  expect([archive.has('empty'), archive.has('session-keys')]).toEqual([true, false]);
  await expect(archive.text('session-keys')).rejects.toThrow('It has no session-keys.');
  await archive.close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  execFileSync('tar', ['xf', path, '-C', folder]);
  const checked = 'dump.rdb: OK\nmanifest.json: OK\nempty: OK\n';
  expect(execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder }).toString()).toBe(checked);
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
  ['another kind of file', Buffer.alloc(4096, 'REDIS0010'), 'It is no backup of coinop.'],
  ['empty blocks', Buffer.alloc(4096), 'It has no SHA256SUMS: it is no backup of coinop, or an incomplete one.'],
])('%s is refused', async (_, bytes, reason) => {
  const path = join(folder, 'other');
  writeFileSync(path, bytes);
  expect(await reasonOf(path)).toBe(reason);
});

test.each(['a link', 'a hard link', 'a folder'])('an archive with %s is refused', async (kind) => {
  const [path, name] = [await written(), join(folder, 'session-keys')];
  writeFileSync(join(folder, 'a'), '');
  if (kind === 'a link') symlinkSync('/etc/passwd', name);
  else if (kind === 'a hard link') linkSync(join(folder, 'a'), name);
  else mkdirSync(name);
  // If a file has two names, tar writes the second one as a link.
  const names = kind === 'a hard link' ? ['a', 'session-keys'] : ['session-keys'];
  execFileSync('tar', ['--append', '--format=ustar', '-f', path, '-C', folder, ...names]);
  expect(await reasonOf(path)).toBe('A part of it is unreadable.');
});

test('a header holds the length of members of more than 8 GiB', () => {
  for (const bytes of [0, 511, 8 ** 11 - 1, 8 ** 11, 2 ** 50]) {
    expect(readTarHeader(createTarHeader('dump.rdb', bytes, AT))).toEqual({ name: 'dump.rdb', bytes });
  }
});
