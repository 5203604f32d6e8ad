import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { Archive } from '../../../src/commands/backup/archive.ts';
import { ledgerKeys } from '../../../src/features/coins/ledger-layout.ts';
import { PrivateRedis } from '../../../src/process/private-redis.ts';
import { DATA_VERSION } from '../../../src/redis/data-version.ts';
import { fillAccounts } from '../../consistency/fill.ts';
import { freshId, request } from '../../harness.ts';
import { startChild, type Child } from '../../realtime/child.ts';
import { runCommand } from '../../run-command.ts';

const services: Child[] = [];
let folder: string;
let dataDir: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-backup-'));
  dataDir = join(folder, 'data');
});
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.stop('SIGKILL')));
  await vi.waitUntil(() => !readFileSync('/proc/net/unix', 'utf8').includes(folder), { timeout: 5000 }).catch(() => {});
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

async function launch(settings: Record<string, string>): Promise<Child> {
  const service = await startChild({ STORE: 'off', ...settings });
  services.push(service);
  return service;
}

const backup = (flags: string[], settings: Record<string, string> = {}) =>
  runCommand('backup.ts', flags, { DATA_DIR: dataDir, ...settings });
const restore = (flags: string[], settings: Record<string, string> = {}) =>
  runCommand('restore.ts', flags, { DATA_DIR: dataDir, ...settings });

interface Operation {
  readonly installId: string;
  readonly coins: number;
  readonly key: string;
}

interface Answer {
  readonly balanceAfterCoins: number;
  readonly replayed?: boolean;
  readonly balanceCoins?: number;
}

async function credit({ url }: Child, operation: Operation): Promise<Answer> {
  const { status, body } = await request(url, '/v1/coins/credit', { method: 'POST' }, JSON.stringify(operation));
  expect(status).toBe(200);
  return body as Answer;
}

/** A private Redis with this many accounts, without a service. */
async function filled(count: number): Promise<void> {
  mkdirSync(dataDir);
  const server = new PrivateRedis(dataDir, pino({ level: 'silent' }));
  await server.start();
  const client = new Redis({ path: server.socketPath });
  await fillAccounts(client, count);
  client.disconnect();
  await server.stop();
}

/** Every file below a folder, with its content. Sockets count by their names. */
function contentOf(path: string): Record<string, string> {
  if (!existsSync(path)) return {};
  const entries = readdirSync(path, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries.map((entry) => [
      join(entry.parentPath, entry.name),
      entry.isFile() ? readFileSync(join(entry.parentPath, entry.name), 'base64') : '-',
    ]),
  );
}

test(
  'a backup under load has each operation acknowledged before it exactly once, wherever it is restored',
  { timeout: 120_000 },
  async () => {
    const service = await launch({ DATA_DIR: dataDir });
    const done: { operation: Operation; answer: Answer }[] = [];
    let isRunning = true;
    let number = 0;
    const installs = Array.from({ length: 40 }, () => freshId());
    const client = async (): Promise<void> => {
      while (isRunning) {
        const operation = { installId: installs[number % installs.length]!, coins: 1 + (number % 7), key: `key-${number++}` };
        done.push({ operation, answer: await credit(service, operation) });
      }
    };
    const load = Promise.all(Array.from({ length: 8 }, client));
    await vi.waitUntil(() => done.length > 500, { timeout: 20_000 });
    const before = done.length;
    const file = join(folder, 'backup.tar');
    const taken = await backup(['--to', file, '--json']);
    const after = done.length;
    isRunning = false;
    await load;
    expect([taken.code, taken.error]).toEqual([0, '']);
    // The load continued meanwhile.
    expect(after).toBeGreaterThan(before);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const manifest = JSON.parse(taken.out) as { verified: { coins: string; accounts: number }; sessionKeys: boolean };
    expect(manifest).toMatchObject({
      file,
      dataVersion: String(DATA_VERSION),
      sessionKeys: true,
      verified: { accounts: 40, audit: { drift: 0 } },
    });
    const session = await request(
      service.url,
      '/v1/login',
      { method: 'POST' },
      JSON.stringify({ installId: installs[0], session: 'token' }),
    );

    const elsewhere = join(folder, 'elsewhere');
    const restored = await restore(['--from', file], { DATA_DIR: elsewhere });
    expect([restored.code, restored.error]).toEqual([0, '']);
    expect(restored.out).toContain(`40 accounts, ${manifest.verified.coins} coins, no drift.`);
    const other = await launch({ DATA_DIR: elsewhere });
    const replays = { before: 0, after: 0 };
    for (const [index, { operation, answer }] of done.entries()) {
      const again = await credit(other, operation);
      if (index < before) expect(again).toMatchObject({ balanceAfterCoins: answer.balanceAfterCoins, replayed: true });
      if (again.replayed === true) replays[index < before ? 'before' : 'after']++;
    }
    expect(replays.before).toBe(before);
    // Each operation is applied once, whether the backup had it or not.
    const balances = new Map<string, number>();
    for (const { operation } of done) balances.set(operation.installId, (balances.get(operation.installId) ?? 0) + operation.coins);
    for (const [installId, coins] of balances)
      expect((await request(other.url, `/v1/balance?installId=${installId}`, {})).body).toMatchObject({ balanceCoins: coins });
    // The keys that sign sessions are restored too.
    const { sessionToken } = session.body as { sessionToken: string };
    const known = await request(other.url, '/v1/session', { headers: { authorization: `Bearer ${sessionToken}` } });
    expect(known.body).toMatchObject({ authenticated: true });
    await other.stop();
    const audit = await runCommand('audit.ts', ['--json'], { DATA_DIR: elsewhere });
    expect([audit.code, audit.error]).toEqual([0, '']);
  },
);

test(
  'a backup of a stopped service goes into a folder under the name of its time, and overwrites nothing',
  { timeout: 60_000 },
  async () => {
    const service = await launch({ DATA_DIR: dataDir });
    await credit(service, { installId: freshId(), coins: 5, key: 'k' });
    await service.stop();
    const target = join(folder, 'backups');
    mkdirSync(target);
    const { code, out, error } = await backup(['--to', target]);
    expect([code, error]).toEqual([0, '']);
    const [name, ...others] = readdirSync(target);
    expect([name, others]).toEqual([expect.stringMatching(/^coinop-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.tar$/), []]);
    expect(out).toMatch(/^.*\.tar\n\S+, \d+ bytes of data, 1 account, 5 coins, 0 deleted accounts, no drift\.\n/);
    expect(out).toContain('It is on the same disk as the data');
    expect(out).toContain('It holds the keys that sign sessions');
    const again = await backup(['--to', join(target, name!)]);
    expect([again.code, again.out]).toEqual([2, '']);
    expect(again.error).toContain('exists already, and a backup overwrites nothing.');
    expect(readdirSync(target)).toEqual([name]);
    // The service starts on its data as before.
    await (await launch({ DATA_DIR: dataDir })).stop();
  },
);

test('a backup without session keys and without an audit reports that', { timeout: 60_000 }, async () => {
  await (await launch({ DATA_DIR: dataDir })).stop();
  const file = join(folder, 'bare.tar');
  const { code, out } = await backup(['--to', file, '--no-session-keys', '--no-audit']);
  expect(code).toBe(0);
  expect(out).toContain('bytes of data, not audited.\n');
  expect(out).toContain('keep SESSION_KEYS as well');
  const archive = await Archive.open(file);
  expect([archive.has('session-keys'), JSON.parse(await archive.text('manifest.json'))]).toEqual([
    false,
    expect.objectContaining({ sessionKeys: false, verified: null }),
  ]);
  await archive.close();
  expect((await restore(['--from', file], { DATA_DIR: join(folder, 'other') })).code).toBe(0);
});

test('data with drift is backed up, and the command reports the drift', { timeout: 60_000 }, async () => {
  const service = await launch({ DATA_DIR: dataDir });
  const installId = freshId();
  await credit(service, { installId, coins: 5, key: 'k' });
  const client = new Redis({ path: join(dataDir, 'redis.sock') });
  await client.del(ledgerKeys.bucket(accountIdOf(installId), 0));
  client.disconnect();
  const file = join(folder, 'drift.tar');
  const { code, error } = await backup(['--to', file]);
  expect(code).toBe(1);
  expect(error).toContain('The backup is whole, and the data in it contradicts itself.');
  expect(error).toContain('(entry_without_key)');
  await service.stop();
  const other = { DATA_DIR: join(folder, 'other') };
  const refused = await restore(['--from', file], other);
  expect([refused.code, contentOf(other.DATA_DIR)]).toEqual([2, {}]);
  expect(refused.error).toContain('--accept-drift');
  expect((await restore(['--from', file, '--accept-drift'], other)).code).toBe(0);
});

describe('a backup that does not finish', () => {
  /** Kills a backup once a condition holds, and returns the files that it left in its folder. */
  async function killed(target: string, seen: (unfinished: string) => boolean): Promise<string[]> {
    const { signal } = await runCommand('backup.ts', ['--to', join(target, 'backup.tar')], { DATA_DIR: dataDir }, async (child) => {
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

  test('leaves no file that looks like a backup, and the next backup cleans up', { timeout: 120_000 }, async () => {
    await filled(5000);
    const target = join(folder, 'backups');
    mkdirSync(target);
    for (const seen of [
      () => true,
      (at: string) => existsSync(join(at, 'draft.tar')),
      (at: string) => existsSync(join(at, 'copy', 'redis')),
    ])
      expect(await killed(target, seen)).toEqual([expect.stringMatching(/^\.coinop-backup-/)]);
    const { code, error } = await backup(['--to', join(target, 'backup.tar')]);
    expect([code, error]).toEqual([0, '']);
    expect(readdirSync(target)).toEqual(['backup.tar']);
  });

  test('because of SIGTERM ends with exit code 2 and leaves no files', { timeout: 60_000 }, async () => {
    await filled(20_000);
    const target = join(folder, 'backups');
    mkdirSync(target);
    const { code, error } = await runCommand('backup.ts', ['--to', target], { DATA_DIR: dataDir }, async (child) => {
      while (child.exitCode === null && !readdirSync(target).some((name) => existsSync(join(target, name, 'copy', 'redis'))))
        await pause(1);
      child.kill('SIGTERM');
    });
    expect([code, error]).toEqual([2, 'coinop backup: Stopped by SIGTERM: there is no backup.\n']);
    expect(readdirSync(target)).toEqual([]);
    expect(readFileSync('/proc/net/unix', 'utf8')).not.toContain(folder);
  });

  const small = join(tmpdir(), `coinop-small-disk-${process.pid}`);
  const canMount = ((): boolean => {
    try {
      mkdirSync(small, { recursive: true });
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', small], { stdio: 'ignore' });
      execFileSync('umount', [small]);
      return true;
    } catch {
      return false;
    } finally {
      rmSync(small, { recursive: true, force: true });
    }
  })();

  // Only root may mount a small disk.
  test.skipIf(!canMount)('because of a full disk leaves no files', { timeout: 60_000 }, async () => {
    await filled(5000);
    mkdirSync(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', small]);
    try {
      const { code, error } = await backup(['--to', small]);
      expect(code).toBe(2);
      expect(error).toMatch(/^coinop backup: There is no backup .*: ENOSPC: no space left on device, write\n$/);
      expect(readdirSync(small)).toEqual([]);
    } finally {
      execFileSync('umount', [small]);
      rmSync(small, { recursive: true });
    }
  });
});

test.each([
  [[], 'Name the file or the folder'],
  [['--to', '/nowhere/at/all.tar'], 'There is no folder /nowhere/at.'],
  [['--too', 'x'], "Unknown option '--too'. See --help."],
])('backup %j is refused with one sentence', async (flags, reason) => {
  const { code, out, error } = await backup(flags);
  expect([code, out]).toEqual([2, '']);
  expect(error).toContain(reason);
});

test.each(['backup.ts', 'restore.ts'])('%s is for the private Redis only', async (program) => {
  const { code, error } = await runCommand(program, ['--to', folder, '--from', folder].slice(program === 'backup.ts' ? 0 : 2).slice(0, 2), {
    REDIS_URL: 'redis://127.0.0.1:1',
  });
  expect([code, error]).toEqual([2, expect.stringContaining('REDIS_URL names a Redis of your own')]);
});

test('a backup of a folder without data is refused', async () => {
  mkdirSync(dataDir);
  const { code, error } = await backup(['--to', folder]);
  expect([code, error]).toEqual([2, expect.stringContaining('holds no data of a private Redis')]);
  writeFileSync(join(folder, 'file'), '');
  expect(readdirSync(dataDir)).toEqual([]);
});
