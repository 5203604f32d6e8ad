import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { movesKey } from '../../../src/accounts/keys.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { DATA_ID_KEY } from '../../../src/redis/data-id.ts';
import { DATA_VERSION_KEY } from '../../../src/redis/data-version.ts';
import { audited } from '../../consistency/audited.ts';
import { freshId, signIn, start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { historyOf, signInToStore } from '../../store.ts';
import { entriesOf, installs, OldProcess, startOldData, type Entry } from './old-data.ts';

/**
 * A coinop of data version 1 that ran before the upgrade, lost its connection, and came back afterwards. It knows the secret of the
 * ledgers, and does not find used keys in the index. The tests run the scripts of version 1.
 */

type Operation = Pick<Entry, 'type' | 'coins' | 'key'>;

/** How a script of version 1 fails: its pattern for an entry, or for a guest, matches nothing. */
const FENCED = /string expected, got nil|attempt to concatenate field 'id'/;

const TYPES = ['credit', 'debit', 'purchase'] as const;

async function oldProcessOf(client: Redis): Promise<OldProcess> {
  return new OldProcess(client, (await client.get('ledger:key-secret'))!);
}

async function contentOf(client: Redis): Promise<Record<string, string>> {
  // The heartbeat of the data moves on every second.
  const names = (await client.keys('*')).filter((name) => name !== DATA_ID_KEY).toSorted();
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, (await client.dumpBuffer(name))!.toString('latin1')])));
}

async function send(service: TestService, installId: string, { type, coins, key }: Operation) {
  return service.post(`/v1/coins/${type}`, { installId, coins, key });
}

/** Makes a guest with this many entries and no coins. @returns its installId */
async function emptyGuest(entries: number, apply: (installId: string, operation: Operation) => Promise<unknown>): Promise<string> {
  const installId = freshId('guest');
  for (let index = 0; index < entries; index++)
    await apply(installId, { type: index % 2 === 0 ? 'credit' : 'debit', coins: 3, key: `${installId}-${index}` });
  return installId;
}

/** Sends some of the used keys of a ledger, and new ones: each call must fail. */
async function expectFenced(process: OldProcess, id: string, usedKeys: readonly Operation[]): Promise<void> {
  const withCapAndRetention = `1000000 ${Date.now() - 86_400_000} 0 ${'0'.repeat(16)}`;
  const operations = [...usedKeys, ...TYPES.map((type) => ({ type, coins: 1, key: freshId('key') }))];
  for (const rules of ['', withCapAndRetention])
    for (const operation of operations) await expect(process.apply(id, operation, rules)).rejects.toThrow(FENCED);
}

test('the scripts of version 1 work on data of version 1', async () => {
  await using old = await startOldData();
  const process = await oldProcessOf(old.client);
  const id = accountIdOf(installs[6]!);
  const entries = await entriesOf(old.client, id);
  const { balance } = entries.at(-1)!;
  expect(await process.apply(id, entries[0]!)).toEqual(['replayed', String(entries[0]!.balance), String(balance)]);
  expect(await process.apply(id, { type: 'credit', coins: 1, key: 'new' })).toEqual(['done', String(balance + 1)]);
  expect(await process.move(id, 'some-target')).toEqual(['moved', '1', String(balance + 1), '0']);
  expect((await entriesOf(old.client, 'some-target')).at(-1)).toMatchObject({ balance: balance + 1, key: `merge:${id}` });
});

test('a process of version 1 that comes back after the upgrade fails before its first write', { timeout: 60_000 }, async () => {
  await using old = await startOldData();
  const process = await oldProcessOf(old.client);
  await using service = await start({ redis: old.location });
  const added = freshId();
  await send(service, added, { type: 'credit', coins: 5, key: 'first' });
  const stores = await Promise.all(['subject-one', 'subject-two'].map(async (name) => (await signInToStore(service, name)).body.accountId));
  const guests = [...installs, added].map((installId) => accountIdOf(installId));

  const before = await contentOf(old.client);
  for (const id of [...guests, ...stores]) {
    // Versions before the key secret read "<seq> <balance>".
    expect(await old.client.lindex(coinKeys.ledger(id), -1)).toMatch(/^\d+:\d+ /);
    const own = (await entriesOf(old.client, id)).filter(({ type }) => type !== 'merge');
    await expectFenced(process, id, [...own.slice(0, 10), ...own.slice(-10)]);
    await expect(process.move('a-guest-without-entries', id)).rejects.toThrow(FENCED);
  }
  for (const id of guests) await expect(process.move(id, 'some-target')).rejects.toThrow(FENCED);
  expect(await contentOf(old.client)).toEqual(before);
});

test('the fence covers accounts that have no entry but those of their guests', { timeout: 60_000 }, async () => {
  await using old = await startOldData();
  const process = await oldProcessOf(old.client);
  const applied = (installId: string, operation: Operation) => process.apply(accountIdOf(installId), operation);
  const large = await emptyGuest(102, applied);
  expect(await process.move(accountIdOf(large), 'target-of-large')).toEqual(['moved', '1', '0', '0']);
  // Before they filed guests, older versions wrote lines without a mark.
  const unmarked = await emptyGuest(2, applied);
  await old.client.set(movesKey(accountIdOf(unmarked)), '>target-of-unmarked');
  await old.client.set(movesKey('target-of-unmarked'), `#2\n${accountIdOf(unmarked)} 2\n`);
  const replayed = { type: 'credit', coins: 3, key: `${large}-0` } as const;
  expect(await process.apply('target-of-large', replayed)).toEqual(['replayed', '3', '0']);

  await using service = await start({ redis: old.location });
  const newGuest = await emptyGuest(102, (installId, operation) => send(service, installId, operation));
  const { body, cookies } = await signInToStore(service, freshId('subject'), { installId: newGuest });
  expect(body).toMatchObject({ moved: true, movedCoins: 0 });

  const before = await contentOf(old.client);
  const targets = [
    ['target-of-large', large],
    ['target-of-unmarked', unmarked],
    [body.accountId, newGuest],
  ] as const;
  for (const [target, guest] of targets) {
    expect(await old.client.exists(coinKeys.ledger(target))).toBe(0);
    await expectFenced(process, target, [{ type: 'credit', coins: 3, key: `${guest}-0` }]);
  }
  expect(await contentOf(old.client)).toEqual(before);

  // The new version reads over the fence.
  const credit = (key: string) => service.post('/v1/coins/credit', { coins: 3, key }, { cookies });
  expect((await credit(`${newGuest}-0`)).body).toMatchObject({ replayed: true, balanceAfterCoins: 3 });
  expect((await credit('own')).body).toEqual({ ok: true, balanceAfterCoins: 3 });
  expect(await historyOf(service, cookies)).toHaveLength(103);
});

test('a ledger that a process of version 1 opens after the upgrade is refused until it is upgraded', { timeout: 60_000 }, async () => {
  await using old = await startOldData();
  const process = await oldProcessOf(old.client);
  const logLines: string[] = [];
  await using service = await start({ redis: old.location, logLines });
  const installId = freshId();
  const operations = Array.from({ length: 30 }, (_, index): Operation => ({ type: 'credit', coins: 1, key: `key ${index}` }));
  for (const operation of operations) await process.apply(accountIdOf(installId), operation);

  // The data folder has a ledger without an account.
  const drift = async () => (await audited(old.location)).findings.filter(({ kind }) => kind !== 'orphan_ledger');

  // The index does not have the key, so the service would apply it again.
  expect((await send(service, installId, operations[3]!)).status).toBe(500);
  expect((await send(service, installId, { type: 'credit', coins: 1, key: 'new' })).status).toBe(500);
  expect(logLines.join('')).toContain(`{${accountIdOf(installId)}}:ledger was written by an older coinop`);
  expect((await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(30);
  expect((await send(service, freshId(), operations[3]!)).status).toBe(200);
  const findings = await drift();
  expect(new Set(findings.map(({ subject }) => subject))).toEqual(new Set([`account ${accountIdOf(installId)}`]));
  expect(new Set(findings.map(({ kind }) => kind))).toEqual(new Set(['old_bucket', 'entry_without_key']));

  // As docs/upgrading.md says.
  await old.client.del(DATA_VERSION_KEY);
  await send(service, freshId(), operations[0]!);
  await expect.poll(async () => (await send(service, installId, operations[3]!)).status, { timeout: 5000 }).toBe(200);
  for (const [index, operation] of operations.entries())
    expect((await send(service, installId, operation)).body).toMatchObject({ replayed: true, balanceAfterCoins: index + 1 });
  await expectFenced(process, accountIdOf(installId), operations);
  expect(await drift()).toEqual([]);
});

test('entries with a blank in place of the colon are read as before', { timeout: 60_000 }, async () => {
  await using own = await startRedis();
  await using service = await start({ redis: own.location, settings: { LEDGER_RETENTION_DAYS: '30' } });
  const { redis } = service.service;
  const installId = freshId();
  const ledger = coinKeys.ledger(accountIdOf(installId));
  const operations = Array.from({ length: 40 }, (_, index): Operation => ({ type: 'credit', coins: 1, key: `key ${index}` }));
  for (const operation of operations) await send(service, installId, operation);
  for (const [index, entry] of (await redis.lrange(ledger, 0, -1)).entries()) await redis.lset(ledger, index, entry.replace(':', ' '));
  for (const [index, operation] of operations.entries())
    expect((await send(service, installId, operation)).body).toMatchObject({ replayed: true, balanceAfterCoins: index + 1 });
  expect((await send(service, installId, { type: 'debit', coins: 4, key: 'new' })).body).toEqual({ ok: true, balanceAfterCoins: 36 });
  expect(await redis.lindex(ledger, -1)).toMatch(/^41:36 d-4 /);
  expect((await historyOf(service, await signIn(service, installId))).map(({ coins }) => coins)).toEqual([
    -4,
    ...Array<number>(40).fill(1),
  ]);
  expect((await audited(own.location)).findings).toEqual([]);
  // Retention deletes such entries with their keys, and a move files them.
  service.advance(31 * 86_400_000);
  for (let index = 0; index < 10; index++) await send(service, installId, { type: 'credit', coins: 1, key: `later ${index}` });
  expect(await redis.lrange(ledger, 0, 21)).toHaveLength(22);
  expect((await redis.lindex(ledger, 0))!).toMatch(/^21 21 c1 /);
  await signInToStore(service, freshId('subject'), { installId });
  expect((await audited(own.location)).findings).toEqual([]);
});
