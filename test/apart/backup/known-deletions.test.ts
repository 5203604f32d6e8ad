import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { readTombstones } from '../../../src/apart/backup/known-deletions.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { freshId, request } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import type { Child } from '../../realtime/child.ts';
import { credit, deleteAccount, post, usePlace } from '../../commands/place.ts';

const place = usePlace({ STORE: 'sandbox' });

async function backup(name: string): Promise<string> {
  const file = join(place.folder, name);
  const { code, error } = await place.run('backup.ts', ['--to', file]);
  expect([code, error]).toEqual([0, '']);
  return file;
}
const restore = (dataDir: string, ...flags: string[]) => place.run('restore.ts', flags, { DATA_DIR: dataDir });

test('a restore deletes the accounts again that were deleted after the backup, guests that moved in included', async () => {
  const [first, installId, kept, subject] = [await place.launch(), freshId(), freshId(), freshId('subject')];
  for (const each of [installId, kept]) await credit(first, each, 'k1');
  await post(first, '/v1/highscores/pebble-drop', { installId, score: 3, name: 'Ada' });
  const { purchaseToken } = await post(first, '/sandbox/issue', { kind: 'subscription' });
  await post(first, '/v1/subscription/purchase', { installId, purchaseToken });
  const tokenOf = async (service: Child) => (await post(service, '/sandbox/issue', { kind: 'id_token', subject })).token;
  await post(first, '/v1/account/store-provision', { token: await tokenOf(first), installId });
  const file = await backup('backup.tar');
  const token = await tokenOf(first);
  const { confirm } = await post(first, '/v1/account/delete', { token });
  expect((await post(first, '/v1/account/delete', { token, confirm })).deleted).toBe(true);
  await first.stop();

  const { code, error } = await restore(place.dataDir, '--from', file, '--replace');
  expect([code, error]).toEqual([0, '']);
  const second = await place.launch();
  expect((await credit(second, installId, 'k2')).error.code).toBe('account_deleted');
  expect((await credit(second, kept, 'k1')).replayed).toBe(true);
  expect((await post(second, '/v1/account/store-provision', { token: await tokenOf(second) })).created).toBe(true);
  await expect.poll(async () => (await request(second.url, '/v1/highscores/pebble-drop', {})).body.top).toEqual([]);
  await second.stop();
  const audit = await place.run('audit.ts', []);
  expect([audit.code, audit.out]).toEqual([0, expect.stringContaining('tombstones')]);
});

test('a restore on another machine repeats the deletions of accounts that a newer backup knows', async () => {
  const [installId, other, service] = [freshId(), freshId(), await place.launch()];
  for (const each of [installId, other]) await credit(service, each, 'k');
  const before = await backup('before.tar');
  await deleteAccount(service, installId);
  const after = await backup('after.tar');
  await service.stop();

  const elsewhere = join(place.folder, 'elsewhere');
  const named = await restore(elsewhere, '--from', before, '--tombstones', after);
  expect([named.code, named.error, named.out]).toEqual([0, '', expect.stringContaining('Deleted 1 account again.')]);
  // The deleted account is closed, its coins are erased, the other account has its own, and the audit is clean.
  const restored = await place.launch({ DATA_DIR: elsewhere });
  expect((await credit(restored, installId, 'k')).error.code).toBe('account_deleted');
  expect((await credit(restored, other, 'k')).replayed).toBe(true);
  const client = new Redis({ path: join(elsewhere, 'redis.sock') });
  await expect.poll(() => client.exists(coinKeys.ledger(accountIdOf(installId)))).toBe(0);
  client.disconnect();
  await restored.stop();
  const audit = await place.run('audit.ts', ['--json'], { DATA_DIR: elsewhere });
  expect([audit.code, JSON.parse(audit.out)]).toMatchObject([0, { drift: 0, checked: { ledgers: 1 } }]);

  // In the backup with the deletion there is nothing to delete.
  const newer = await restore(join(place.folder, 'newer'), '--from', after);
  expect([newer.code, newer.out]).toEqual([0, expect.not.stringContaining('again')]);
});

test('unreadable data is replaced only if its deletions may be forgotten', async () => {
  const [service, installId] = [await place.launch(), freshId()];
  await credit(service, installId, 'k');
  const file = await backup('backup.tar');
  await service.stop();
  const folder = join(place.dataDir, 'redis', 'appendonlydir');
  const incremental = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith('.incr.aof'))!,
  );
  writeFileSync(incremental, 'no command of Redis\n'.repeat(10));
  const refused = await restore(place.dataDir, '--from', file, '--replace');
  expect([refused.code, refused.out]).toEqual([2, '']);
  expect(refused.error).toContain('so the accounts that were deleted since the backup are not known');
  expect(readFileSync(incremental, 'utf8')).toContain('no command of Redis');
  const { code, error } = await restore(place.dataDir, '--from', file, '--replace', '--forget-deletions');
  expect([code, error]).toEqual([0, '']);
  expect((await credit(await place.launch(), installId, 'another')).ok).toBe(true);
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
