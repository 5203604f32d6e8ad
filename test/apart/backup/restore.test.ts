import type { ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Archive, ArchiveWriter } from '../../../src/apart/backup/archive.ts';
import { restoreBackup } from '../../../src/apart/backup/put-back.ts';
import { Failure } from '../../../src/process/command.ts';
import { socketPathFor } from '../../../src/process/redis-server.ts';
import { DATA_VERSION, OLDEST_DATA_VERSION } from '../../../src/redis/data/data-version.ts';
import { freshId } from '../../harness.ts';
import { startChild } from '../../realtime/child.ts';
import { runCommand } from '../../run-command.ts';
import { balanceOf, credit, usePlace } from '../../commands/place.ts';

/** A backup of one account with 5 coins, and the original data. */
let made: { folder: string; dataDir: string; file: string; installId: string };
beforeAll(async () => {
  const own = mkdtempSync(join(tmpdir(), 'coinop-made-'));
  made = { folder: own, dataDir: join(own, 'data'), file: join(own, 'backup.tar'), installId: freshId() };
  const service = await startChild({ STORE: 'off', DATA_DIR: made.dataDir });
  await credit(service, made.installId, 'k1');
  await service.stop();
  expect((await runCommand('backup.ts', ['--to', made.file], { DATA_DIR: made.dataDir })).code).toBe(0);
});
afterAll(() => rmSync(made.folder, { recursive: true, force: true }));

const place = usePlace({ STORE: 'off' });
const restore = (...flags: string[]) => place.run('restore.ts', flags);
/** The balance of the account in a service that starts on DATA_DIR. */
const balanceAfterStart = async () => balanceOf(await place.launch(), made.installId);
/** What is in DATA_DIR if a refused restore changed nothing. */
const UNCHANGED = ['data-heartbeats', 'data-id', 'redis', 'session-keys'];

/** Every file below DATA_DIR, with its content. */
function content(): Record<string, string> {
  if (!existsSync(place.dataDir)) return { 'no folder': '' };
  const files = readdirSync(place.dataDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(files.map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), 'base64')]));
}

/** A service that made newer data in DATA_DIR: one more operation of the same account. */
async function withData(): Promise<void> {
  cpSync(made.dataDir, place.dataDir, { recursive: true });
  const service = await place.launch();
  await credit(service, made.installId, 'k2');
  await service.stop();
}

test('a restore is refused while the service runs, and the service continues', async () => {
  const service = await place.launch();
  await credit(service, made.installId, 'other');
  const { code, out, error } = await restore('--from', made.file, '--replace');
  expect([code, out]).toEqual([2, '']);
  expect(error).toMatch(/^coinop restore: DATA_DIR \S+ is in use\. Stop the service first\.\n$/);
  await credit(service, made.installId, 'another');
  expect(await balanceOf(service, made.installId)).toBe(10);
  expect(await service.stop()).toBe(0);
});

test('existing data is replaced only with --replace, and the old data is kept', async () => {
  await withData();
  const before = content();
  const refused = await restore('--from', made.file);
  expect([refused.code, refused.out]).toEqual([2, '']);
  expect(refused.error).toContain('holds data. With --replace the backup takes its place');
  expect(content()).toEqual(before);

  const { code, out, error } = await restore('--from', made.file, '--replace');
  expect([code, error]).toEqual([0, '']);
  expect(out).toContain('1 account, 5 coins, no drift.');
  const old = readdirSync(place.dataDir).find((name) => name.startsWith('redis.before-'))!;
  expect(out).toContain(`The old data is in ${join(place.dataDir, old)}.`);
  const service = await place.launch();
  expect(await balanceOf(service, made.installId)).toBe(5);
  // The operation after the backup is lost, so its key takes effect again, once.
  for (let time = 0; time < 2; time++) await credit(service, made.installId, 'k2');
  expect(await balanceOf(service, made.installId)).toBe(10);
  await service.stop();
  // The old data is complete: the service can serve it if it is put back with its id.
  rmSync(join(place.dataDir, 'redis'), { recursive: true });
  cpSync(join(place.dataDir, old), join(place.dataDir, 'redis'), { recursive: true });
  cpSync(join(place.dataDir, old.replace('redis', 'data-id')), join(place.dataDir, 'data-id'));
  expect(await balanceAfterStart()).toBe(10);
});

describe('no data is changed by', () => {
  const damages: [string, (file: string) => unknown, string][] = [
    ['a file that is cut off in the data', (file) => truncateSync(file, 700), 'It is cut off.'],
    ['a missing file', (file) => rmSync(file), 'ENOENT'],
    ['a folder', (file) => (rmSync(file), mkdirSync(file)), 'It is no file.'],
  ];
  /** Runs in this process, for restores that are refused before DATA_DIR is locked. */
  const refusalOf = (file: string): Promise<unknown> =>
    restoreBackup({
      dataDir: place.dataDir,
      from: file,
      isReplacing: true,
      tombstoneFiles: [],
      forgetsDeletions: true,
      acceptsDrift: true,
      signal: new AbortController().signal,
    });

  test.each(damages)('%s', async (_, damage, reason) => {
    const file = join(place.folder, 'damaged.tar');
    cpSync(made.file, file);
    damage(file);
    await expect(refusalOf(file)).rejects.toThrow(reason);
    expect(content()).toEqual({ 'no folder': '' });
    cpSync(made.dataDir, place.dataDir, { recursive: true });
    const before = content();
    await expect(refusalOf(file)).rejects.toThrow(Failure);
    expect(content()).toEqual(before);
  });

  test('the restore of a damaged file, which reports the damage in one sentence', async () => {
    const file = join(place.folder, 'damaged.tar');
    writeFileSync(file, readFileSync(made.file).subarray(0, 5000));
    const { code, out, error } = await restore('--from', file);
    expect([code, out, content()]).toEqual([2, '', { 'no folder': '' }]);
    expect(error).toBe(`coinop restore: ${file} cannot be restored. It is cut off.\n`);
  });

  /** The backup, with other members. */
  async function rewritten(change: (members: Map<string, Buffer>) => void): Promise<string> {
    const archive = await Archive.open(made.file);
    const members = new Map<string, Buffer>();
    for (const name of ['dump.rdb', 'tombstones', 'session-keys', 'manifest.json']) {
      const pieces: Buffer[] = [];
      for await (const piece of archive.pieces(name)) pieces.push(piece);
      members.set(name, Buffer.concat(pieces));
    }
    await archive.close();
    change(members);
    const file = join(place.folder, 'rewritten.tar');
    const writer = await ArchiveWriter.create(file, Date.now());
    for (const [name, bytes] of members) await writer.add(name, [bytes]);
    await writer.end();
    return file;
  }

  const inManifest = (changes: object) => (members: Map<string, Buffer>) =>
    void members.set(
      'manifest.json',
      Buffer.from(JSON.stringify({ ...(JSON.parse(String(members.get('manifest.json'))) as object), ...changes })),
    );

  const unusable: [string, (members: Map<string, Buffer>) => void, string][] = [
    [
      'data of a newer version',
      inManifest({ dataVersion: String(DATA_VERSION + 1) }),
      `Its data has version ${DATA_VERSION + 1}, and this coinop knows versions up to ${DATA_VERSION}.`,
    ],
    [
      'data of version 2',
      inManifest({ dataVersion: '2' }),
      `Its data has version 2, and this coinop takes none before ${OLDEST_DATA_VERSION}.`,
    ],
    ['a newer form of backup', inManifest({ format: 2 }), 'A newer coinop made it: restore it with that one.'],
    ['another manifest', inManifest({ service: 'other' }), 'Its manifest.json is unreadable: service.'],
    ['a missing part', (members) => void members.delete('dump.rdb'), 'It has no dump.rdb.'],
  ];
  test.each(unusable)('%s', async (_, change, reason) => {
    const file = await rewritten(change);
    await expect(refusalOf(file)).rejects.toThrow(reason);
    expect(content()).toEqual({ 'no folder': '' });
  });

  const misleading: [string, (members: Map<string, Buffer>) => void, string][] = [
    [
      'data that Redis does not load',
      (members) => void members.set('dump.rdb', members.get('dump.rdb')!.subarray(0, -20)),
      'Redis does not load the data of the backup',
    ],
    [
      'fewer coins than the manifest says',
      inManifest({
        verified: { accounts: 1, keys: 4, coins: '6', tombstones: 0, audit: { drift: 0, unsettled: 0, checked: {}, unknown: {} } },
      }),
      'the backup says that it has 6 coins in 1 account, and 5 in 1 account were read.',
    ],
    [
      'session keys that are none',
      (members) => void members.set('session-keys', Buffer.from('none')),
      'the session-keys of the backup cannot be read.',
    ],
  ];
  test.each(misleading)('%s', async (_, change, reason) => {
    cpSync(made.dataDir, place.dataDir, { recursive: true });
    const file = await rewritten(change);
    const keys = readFileSync(join(place.dataDir, 'session-keys'), 'utf8');
    const { code, out, error } = await restore('--from', file, '--replace');
    expect([code, out]).toEqual([2, '']);
    expect(error).toContain(reason);
    expect(readdirSync(place.dataDir).toSorted()).toEqual(UNCHANGED);
    expect(readFileSync(join(place.dataDir, 'session-keys'), 'utf8')).toBe(keys);
    expect(await balanceAfterStart()).toBe(5);
  });
});

/** Runs a restore, and acts once it has begun to load the backup. */
const interrupted = (act: (child: ChildProcess) => unknown) =>
  runCommand('restore.ts', ['--from', made.file, '--replace'], { DATA_DIR: place.dataDir }, async (child) => {
    while (child.exitCode === null && !existsSync(join(place.dataDir, 'restoring', 'redis', 'appendonlydir'))) await pause(1);
    act(child);
  });

test('a Redis that starts on the data during a restore, in another container, keeps its data', async () => {
  await withData();
  const { code, error } = await interrupted((child) => {
    // The old data was read before, so its socket is free.
    const listener = createServer().listen(socketPathFor(place.dataDir));
    child.once('exit', () => listener.close());
  });
  expect([code, error]).toEqual([2, expect.stringMatching(/^coinop restore: A Redis is running on \S+\. Stop the service first\./)]);
  expect(readdirSync(place.dataDir).toSorted()).toEqual(UNCHANGED);
  expect(await balanceAfterStart()).toBe(10);
});

test('a restore that is killed in the middle leaves the old data, and the next one works', async () => {
  await withData();
  expect((await interrupted((child) => child.kill('SIGKILL'))).signal).toBe('SIGKILL');
  const service = await place.launch();
  expect(await balanceOf(service, made.installId)).toBe(10);
  await service.stop();
  const { code, error } = await restore('--from', made.file, '--replace');
  expect([code, error]).toEqual([0, '']);
  expect(readdirSync(place.dataDir)).not.toContain('restoring');
  expect(await balanceAfterStart()).toBe(5);
});

test('a service that starts after a restore was cut off between its renames finds the restored data', async () => {
  mkdirSync(join(place.dataDir, 'restoring'), { recursive: true });
  cpSync(join(made.dataDir, 'redis'), join(place.dataDir, 'restoring', 'redis'), { recursive: true });
  cpSync(join(made.dataDir, 'session-keys'), join(place.dataDir, 'restoring', 'session-keys'));
  writeFileSync(join(place.dataDir, 'restore.json'), '{"oldSuffix":".before-x"}');
  const service = await place.launch();
  expect(await balanceOf(service, made.installId)).toBe(5);
  expect(readFileSync(join(place.dataDir, 'session-keys'), 'utf8')).toBe(readFileSync(join(made.dataDir, 'session-keys'), 'utf8'));
  expect(service.output()).toContain('finished a restore that was cut off');
});
