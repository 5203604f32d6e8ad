import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { parseTombstones, readTombstones, textOfTombstones } from '../../../src/commands/backup/known-deletions.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { freshId, request } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { startChild, type Child } from '../../realtime/child.ts';
import { runCommand } from '../../run-command.ts';

const services: Child[] = [];
let folder: string;
let dataDir: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-tombstones-'));
  dataDir = join(folder, 'data');
});
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.stop('SIGKILL')));
  await vi.waitUntil(() => !readFileSync('/proc/net/unix', 'utf8').includes(folder), { timeout: 5000 }).catch(() => {});
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

async function launch(place = dataDir): Promise<Child> {
  const service = await startChild({ STORE: 'off', DATA_DIR: place });
  services.push(service);
  return service;
}

async function post({ url }: Child, path: string, body: object): Promise<{ status: number; code?: string; confirm?: string }> {
  const reply = await request(url, path, { method: 'POST' }, JSON.stringify(body));
  const { error, confirm } = reply.body as { error?: { code: string }; confirm?: string };
  return { status: reply.status, ...(error && { code: error.code }), ...(confirm && { confirm }) };
}

const credit = (service: Child, installId: string, key: string) => post(service, '/v1/coins/credit', { installId, coins: 5, key });

async function deleteAccount(service: Child, installId: string): Promise<void> {
  const { confirm } = await post(service, '/v1/account/delete', { installId });
  expect((await post(service, '/v1/account/delete', { installId, confirm })).status).toBe(200);
}

const backup = async (file: string) => {
  const { code, error } = await runCommand('backup.ts', ['--to', file], { DATA_DIR: dataDir });
  expect([code, error]).toEqual([0, '']);
};

/** The deleted account is closed, its coins are erased, the other account has its own, and the audit is clean. */
async function expectDeleted(place: string, installId: string, other: string): Promise<void> {
  const service = await launch(place);
  expect(await credit(service, installId, 'k')).toEqual({ status: 410, code: 'account_deleted' });
  expect(await credit(service, other, 'k')).toEqual({ status: 200 });
  const client = new Redis({ path: join(place, 'redis.sock') });
  await expect.poll(() => client.exists(coinKeys.ledger(accountIdOf(installId))), { timeout: 30_000 }).toBe(0);
  client.disconnect();
  await service.stop();
  const audit = await runCommand('audit.ts', ['--json'], { DATA_DIR: place });
  expect([audit.code, audit.error]).toEqual([0, '']);
  expect(JSON.parse(audit.out)).toMatchObject({ drift: 0, checked: { ledgers: 1 } });
}

test('a restore on another machine repeats the deletions of accounts that a newer backup knows', { timeout: 120_000 }, async () => {
  const [installId, other] = [freshId(), freshId()];
  const [before, after] = [join(folder, 'before.tar'), join(folder, 'after.tar')];
  const service = await launch();
  for (const each of [installId, other]) expect((await credit(service, each, 'k')).status).toBe(200);
  await backup(before);
  await deleteAccount(service, installId);
  await backup(after);
  await service.stop();

  const elsewhere = join(folder, 'elsewhere');
  const named = await runCommand('restore.ts', ['--from', before, '--tombstones', after], { DATA_DIR: elsewhere });
  expect([named.code, named.error]).toEqual([0, '']);
  expect(named.out).toContain('Deleted 1 account again.');
  await expectDeleted(elsewhere, installId, other);

  // In the backup with the deletion there is nothing to delete.
  const newer = await runCommand('restore.ts', ['--from', after], { DATA_DIR: join(folder, 'newer') });
  expect([newer.code, newer.out]).toEqual([0, expect.not.stringContaining('again')]);
});

test('unreadable data is replaced only if its deletions may be forgotten', { timeout: 60_000 }, async () => {
  const service = await launch();
  const installId = freshId();
  await credit(service, installId, 'k');
  const file = join(folder, 'backup.tar');
  await backup(file);
  await service.stop();
  const place = join(dataDir, 'redis', 'appendonlydir');
  const incr = readdirSync(place).find((name) => name.endsWith('.incr.aof'))!;
  writeFileSync(join(place, incr), 'no command of Redis\n'.repeat(10));
  const refused = await runCommand('restore.ts', ['--from', file, '--replace'], { DATA_DIR: dataDir });
  expect([refused.code, refused.out]).toEqual([2, '']);
  expect(refused.error).toContain('so the accounts that were deleted since the backup are not known');
  expect(readFileSync(join(place, incr), 'utf8')).toContain('no command of Redis');
  const { code, error } = await runCommand('restore.ts', ['--from', file, '--replace', '--forget-deletions'], { DATA_DIR: dataDir });
  expect([code, error]).toEqual([0, '']);
  expect(await credit(await launch(), installId, 'another')).toEqual({ status: 200 });
});

test('an account is among the tombstones even if the deleting process died at once', async () => {
  await using server = await startRedis();
  const { redis } = server;
  await redis.zadd('tombstones', 1_795_000_000_000, 'indexed');
  // Marked but not in the index; requested but not marked; marked and in the index.
  await redis.mset('{marked}:moves', '=1795000000001\n#3\n', '{open}:moves', '#1\n', '{indexed}:moves', '=1795000000000\n');
  await redis.zadd('deletions:due', 1, 'marked#a', 1, 'open', 1, 'unknown', 1, 'indexed');
  expect(await readTombstones(redis)).toEqual([
    { accountId: 'indexed', at: 1_795_000_000_000 },
    { accountId: 'marked', at: 1_795_000_000_001 },
  ]);
});

test('all tombstones are found, however many there are', async () => {
  await using server = await startRedis();
  const { redis } = server;
  const tombstones = Array.from({ length: 2001 }, (_, at) => ({ accountId: `deleted-${at}`, at }));
  await redis.zadd('tombstones', ...tombstones.flatMap(({ accountId, at }) => [at, accountId]));
  expect(await readTombstones(redis)).toEqual(tombstones);
});

test('tombstones are lines of text, and other text is refused', () => {
  const tombstones = [
    { accountId: 'k3Jx9QmZ2bTwk3Jx9QmZ2b', at: 1_795_000_000_000 },
    { accountId: 'A-_bcdefghijklmnopqrst', at: 0 },
  ];
  expect(textOfTombstones(tombstones)).toBe('k3Jx9QmZ2bTwk3Jx9QmZ2b 1795000000000\nA-_bcdefghijklmnopqrst 0\n');
  expect(parseTombstones(textOfTombstones(tombstones))).toEqual(tombstones);
  for (const text of ['k3Jx9', 'a b', 'a 1 2', '{a} 1']) expect(() => parseTombstones(text)).toThrow('no tombstone');
});
