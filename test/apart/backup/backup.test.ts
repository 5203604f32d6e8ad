import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { Archive } from '../../../src/apart/backup/archive.ts';
import { ledgerKeys } from '../../../src/features/coins/ledger-layout.ts';
import { PrivateRedis } from '../../../src/process/private-redis.ts';
import { DATA_VERSION } from '../../../src/redis/data/data-version.ts';
import { fillAccounts } from '../../consistency/fill.ts';
import { freshId, request } from '../../harness.ts';
import { runCommand } from '../../run-command.ts';
import { credit, Load, post, usePlace } from '../../commands/place.ts';

const place = usePlace({ STORE: 'off' });
const backup = (...flags: string[]) => place.run('backup.ts', flags);
const restore = (dataDir: string, ...flags: string[]) => place.run('restore.ts', flags, { DATA_DIR: dataDir });

/** A private Redis with this many accounts, without a service. */
async function filled(count: number): Promise<void> {
  mkdirSync(place.dataDir);
  const server = new PrivateRedis(place.dataDir, pino({ level: 'silent' }));
  await server.start();
  const client = new Redis({ path: server.socketPath });
  await fillAccounts(client, count);
  client.disconnect();
  await server.stop();
}

test('a backup under load has each operation acknowledged before it exactly once, wherever it is restored', async () => {
  const service = await place.launch();
  const load = new Load(service);
  await load.reaches(500);
  const before = load.done.length;
  const file = join(place.folder, 'backup.tar');
  const taken = await backup('--to', file, '--json');
  const after = load.done.length;
  await load.stop();
  expect([taken.code, taken.error]).toEqual([0, '']);
  // The load continued meanwhile.
  expect(after).toBeGreaterThan(before);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const manifest = JSON.parse(taken.out) as { verified: { coins: string } };
  expect(manifest).toMatchObject({
    ...{ file, dataVersion: String(DATA_VERSION), sessionKeys: true },
    verified: { accounts: 40, audit: { drift: 0 } },
  });
  const { sessionToken } = await post(service, '/v1/login', { installId: load.done[0]!.installId, session: 'token' });

  const elsewhere = join(place.folder, 'elsewhere');
  const restored = await restore(elsewhere, '--from', file);
  expect([restored.code, restored.error]).toEqual([0, '']);
  expect(restored.out).toContain(`40 accounts, ${manifest.verified.coins} coins, no drift.`);
  const other = await place.launch({ DATA_DIR: elsewhere });
  await load.expectOnceOn(other, before);
  // The keys that sign sessions are restored too.
  const known = await request(other.url, '/v1/session', { headers: { authorization: `Bearer ${sessionToken}` } });
  expect(known.body).toMatchObject({ authenticated: true });
  await other.stop();
  const audit = await place.run('audit.ts', ['--json'], { DATA_DIR: elsewhere });
  expect([audit.code, audit.error]).toEqual([0, '']);
});

test('a backup of a stopped service goes into a folder under the name of its time, and overwrites nothing', async () => {
  const service = await place.launch();
  await credit(service, freshId(), 'k');
  await service.stop();
  const target = join(place.folder, 'backups');
  mkdirSync(target);
  const { code, out, error } = await backup('--to', target);
  expect([code, error]).toEqual([0, '']);
  const [name, ...others] = readdirSync(target);
  expect([name, others]).toEqual([expect.stringMatching(/^coinop-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.tar$/), []]);
  expect(out).toMatch(/^.*\.tar\n\S+, \d+ bytes of data, 1 account, 5 coins, 0 deleted accounts, no drift\.\n/);
  expect(out).toContain('The backup is on the same disk as the data');
  expect(out).toContain('The backup holds the keys that sign sessions');
  const again = await backup('--to', join(target, name!));
  expect([again.code, again.error]).toEqual([2, expect.stringContaining('exists already, and a backup overwrites nothing.')]);
  expect(readdirSync(target)).toEqual([name]);
  // The service starts on its data as before.
  await (await place.launch()).stop();
});

test('a backup without session keys and without an audit reports that', async () => {
  await (await place.launch()).stop();
  const file = join(place.folder, 'bare.tar');
  const { code, out } = await backup('--to', file, '--no-session-keys', '--no-audit');
  expect([code, out]).toEqual([0, expect.stringMatching(/bytes of data, not audited\.\n[^]*keep SESSION_KEYS as well/)]);
  const archive = await Archive.open(file);
  expect(archive.has('session-keys')).toBe(false);
  expect(JSON.parse(await archive.text('manifest.json'))).toMatchObject({ sessionKeys: false, verified: null });
  await archive.close();
  expect((await restore(join(place.folder, 'other'), '--from', file)).code).toBe(0);
});

test('data with drift is backed up, and the command reports the drift', async () => {
  const [service, installId] = [await place.launch(), freshId()];
  await credit(service, installId, 'k');
  const client = new Redis({ path: join(place.dataDir, 'redis.sock') });
  await client.del(ledgerKeys.bucket(accountIdOf(installId), 0));
  client.disconnect();
  const file = join(place.folder, 'drift.tar');
  const { code, error } = await backup('--to', file);
  expect([code, error]).toEqual([1, expect.stringContaining('The backup is whole, and the data in it contradicts itself.')]);
  expect(error).toContain('(entry_without_key)');
  const other = join(place.folder, 'other');
  const refused = await restore(other, '--from', file);
  expect([refused.code, refused.error, existsSync(join(other, 'redis'))]).toEqual([2, expect.stringContaining('--accept-drift'), false]);
  expect((await restore(other, '--from', file, '--accept-drift')).code).toBe(0);
});

describe('a backup that does not finish', () => {
  /** Kills a backup once a condition holds, and returns the files that it left in its folder. */
  async function killed(target: string, seen: (unfinished: string) => boolean): Promise<string[]> {
    const { signal } = await runCommand('backup.ts', ['--to', join(target, 'backup.tar')], { DATA_DIR: place.dataDir }, async (child) => {
      const unfinished = (): string | undefined => readdirSync(target).find((name) => name.startsWith('.coinop-backup-'));
      while (child.exitCode === null) {
        const name = unfinished();
        if (name !== undefined && seen(join(target, name))) break;
        await pause(1);
      }
      child.kill('SIGKILL');
    });
    expect(signal).toBe('SIGKILL');
    return readdirSync(target);
  }

  test('leaves no file that looks like a backup, and the next backup cleans up', async () => {
    await filled(5000);
    const target = join(place.folder, 'backups');
    mkdirSync(target);
    for (const seen of [
      () => true,
      (at: string) => existsSync(join(at, 'draft.tar')),
      (at: string) => existsSync(join(at, 'copy', 'redis')),
    ])
      expect(await killed(target, seen)).toEqual([expect.stringMatching(/^\.coinop-backup-/)]);
    const { code, error } = await backup('--to', join(target, 'backup.tar'));
    expect([code, error]).toEqual([0, '']);
    expect(readdirSync(target)).toEqual(['backup.tar']);
  });

  test('because of SIGTERM ends with exit code 2 and leaves no files', async () => {
    await filled(20_000);
    const target = join(place.folder, 'backups');
    mkdirSync(target);
    const { code, error } = await runCommand('backup.ts', ['--to', target], { DATA_DIR: place.dataDir }, async (child) => {
      while (child.exitCode === null && !readdirSync(target).some((name) => existsSync(join(target, name, 'copy', 'redis'))))
        await pause(1);
      child.kill('SIGTERM');
    });
    expect([code, error]).toEqual([2, 'coinop backup: Stopped by SIGTERM: there is no backup.\n']);
    expect(readdirSync(target)).toEqual([]);
    expect(readFileSync('/proc/net/unix', 'utf8')).not.toContain(place.folder);
  });
});

test.each([
  ['backup.ts', [], {}, 'Name the file or the folder'],
  ['backup.ts', ['--to', '/nowhere/at/all.tar'], {}, 'There is no folder /nowhere/at.'],
  ['backup.ts', ['--to', tmpdir()], {}, 'holds no data of a private Redis'],
  ['restore.ts', [], {}, 'Name the backup: --from FILE.'],
  ['restore.ts', ['--from'], {}, "Option '--from <value>' argument missing. See --help."],
  ['backup.ts', ['--to', tmpdir()], { REDIS_URL: 'redis://127.0.0.1:1' }, 'REDIS_URL names a Redis of your own'],
  ['restore.ts', ['--from', tmpdir()], { REDIS_URL: 'redis://127.0.0.1:1' }, 'REDIS_URL names a Redis of your own'],
] as const)('%s %j with %j is refused with one sentence', async (program, flags, settings, reason) => {
  const { code, out, error } = await place.run(program, flags, settings);
  expect([code, out, error]).toEqual([2, '', expect.stringContaining(reason)]);
});
