import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { accountIdOf, storeAccountIdOf } from '../../../src/accounts/ids.ts';
import { movesKey } from '../../../src/accounts/keys.ts';
import { parseMovesRecord } from '../../../src/accounts/moves-record.ts';
import { KEY_SECRET } from '../../../src/features/coins/secret-keys.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { adoptGuest } from '../../../src/features/coins/upgrade-ledgers.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { DATA_VERSION, DATA_VERSION_KEY, UPGRADING_VERSION } from '../../../src/redis/data-version.ts';
import { ScriptRunner } from '../../../src/redis/script-runner.ts';
import { audited } from '../../consistency/audited.ts';
import { freshId, start, type TestService } from '../../harness.ts';
import { historyOf, signInToStore } from '../../store.ts';
import { entriesOf, guestsOfVersion2, ProcessOfVersion2, startOldData, type Entry } from './old-data.ts';

/** Data of version 2: the ledger of a guest that moved lies under the guest's tag. The start puts it under the account's. */

interface Before {
  readonly subject: string;
  readonly accountId: string;
  readonly own: readonly Entry[];
  /** By the guest's number. */
  readonly guests: readonly (readonly Entry[])[];
}

/** The ledgers as version 2 has them. */
async function readBefore(client: Redis): Promise<Before[]> {
  return Promise.all(
    Object.entries(guestsOfVersion2).map(async ([subject, installs]) => {
      const accountId = storeAccountIdOf('sandbox', subject);
      const guests = await Promise.all(installs.map((installId) => entriesOf(client, accountIdOf(installId))));
      return { subject, accountId, own: await entriesOf(client, accountId), guests };
    }),
  );
}

const guestIds = Object.values(guestsOfVersion2)
  .flat()
  .map((installId) => accountIdOf(installId));

async function checkAccount(service: TestService, { subject, own, guests }: Before): Promise<void> {
  const { cookies } = await signInToStore(service, subject);
  const { balance } = own.at(-1)!;
  expect((await service.get('/v1/balance', { cookies })).body.balanceCoins).toBe(balance);
  // Ids name the guest and the entry. They did not change.
  const ids = [...own.map(({ seq }) => `${seq}`), ...guests.flatMap((entries, index) => entries.map(({ seq }) => `${index + 1}.${seq}`))];
  const history = await historyOf(service, cookies);
  expect(history.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  const times = history.map(({ at }) => Date.parse(at));
  expect(times).toEqual(times.toSorted((one, other) => other - one));
  for (const entries of [own, ...guests])
    for (let first = 0; first < entries.length; first += 64) {
      const some = entries.slice(first, first + 64).filter(({ type }) => type !== 'merge');
      const replies = await Promise.all(some.map(({ type, coins, key }) => service.post(`/v1/coins/${type}`, { coins, key }, { cookies })));
      expect(replies.map(({ body }) => body)).toEqual(
        some.map((entry) => ({ ok: true, balanceAfterCoins: entry.balance, replayed: true, balanceCoins: balance })),
      );
    }
  const added = await service.post('/v1/coins/credit', { coins: 5, key: 'after' }, { cookies });
  expect(added.body).toEqual({ ok: true, balanceAfterCoins: balance + 5 });
}

async function leftovers(client: Redis): Promise<string[]> {
  const keys = await Promise.all(guestIds.map((id) => client.keys(`{${id}}:*`)));
  return keys.flat().filter((key) => !key.endsWith(':moves'));
}

test(
  'a data folder of version 2 is upgraded: guests replay, histories stay, and the audit finds nothing',
  { timeout: 60_000 },
  async () => {
    await using old = await startOldData(2);
    const before = await readBefore(old.client);
    expect(before.map(({ guests }) => guests.map(({ length }) => length))).toEqual([
      [4, 101, 151, 0, 13],
      [701, 31, 3],
    ]);
    await using service = await start({ redis: old.location });
    expect((await service.get('/ready')).status).toBe(200);
    expect(await old.client.get(DATA_VERSION_KEY)).toBe(String(DATA_VERSION));
    // The move that version 2 had queued hands its score over.
    await expect.poll(() => leftovers(old.client)).toEqual([]);
    const [, two] = before as [Before, Before];
    expect(await old.client.hkeys(boardKeys.players('version-2-left'))).toEqual([two.accountId]);
    await expect.poll(() => old.client.zcard('moves:due')).toBe(0);
    expect((await audited(old.location)).findings).toEqual([]);
    for (const account of before) await checkAccount(service, account);
    const { cookies } = await signInToStore(service, 'version-2-one');
    expect((await service.get('/v1/subscription', { cookies })).body).toMatchObject({ source: 'store', verified: true });
    expect((await service.get('/v1/highscores/version-2')).body.top.map(({ score }: { score: number }) => score)).toEqual([750, 53, 7]);
    // A further guest moves in after the upgrade.
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 7, key: 'new' });
    expect((await signInToStore(service, 'version-2-one', { installId })).body).toMatchObject({ moved: true, movedCoins: 7 });
    expect((await historyOf(service, cookies)).filter(({ id }) => id.startsWith('6.'))).toHaveLength(2);
    expect((await audited(old.location)).findings).toEqual([]);
  },
);

test.each([0, 1, 4, 7])('an upgrade that was cut off after %i guests goes on', { timeout: 60_000 }, async (count) => {
  await using old = await startOldData(2);
  const before = await readBefore(old.client);
  await old.client.set(DATA_VERSION_KEY, UPGRADING_VERSION);
  const scripts = new ScriptRunner(old.client, { now: Date.now });
  const adopted = before.flatMap(({ accountId }) => accountId);
  let left = count;
  for (const accountId of adopted)
    for (const { id, lastSeq, isFiled } of parseMovesRecord((await old.client.get(movesKey(accountId)))!).guests) {
      if (left-- <= 0) continue;
      const keys = { ledger: coinKeys.ledger(id), copy: coinKeys.guestLedger(accountId, id) };
      const args = { lastSeq, isFiled: isFiled ? 1 : 0 };
      await scripts.run(adoptGuest, keys, args);
      expect(await scripts.run(adoptGuest, keys, args)).toEqual(['done']);
    }
  await using service = await start({ redis: old.location });
  await expect.poll(() => leftovers(old.client)).toEqual([]);
  for (const account of before) await checkAccount(service, account);
  expect((await audited(old.location)).findings).toEqual([]);
});

test('two services that start together upgrade the data once', { timeout: 60_000 }, async () => {
  await using old = await startOldData(2);
  const before = await readBefore(old.client);
  const services = await Promise.all([start({ redis: old.location }), start({ redis: old.location })]);
  try {
    for (const service of services) await expect.poll(async () => (await service.get('/ready')).status, { timeout: 5000 }).toBe(200);
    for (const [index, account] of before.entries()) await checkAccount(services[index]!, account);
  } finally {
    for (const service of services) await service[Symbol.asyncDispose]();
  }
});

test('a running process of version 2 applies and moves nothing from the begin of the upgrade on', { timeout: 60_000 }, async () => {
  await using old = await startOldData(2);
  const process = new ProcessOfVersion2(old.client, (await old.client.get(KEY_SECRET))!);
  const id = accountIdOf('version-2-of-0040');
  const store = storeAccountIdOf('sandbox', 'version-2-one');
  const content = async () => {
    // What coin operations and moves write. The service works on purchases and rooms meanwhile.
    const names = (await old.client.keys('{*}:*')).filter((name) => /\}:(ledger|index|moves|keys|guest|credited)/.test(name)).toSorted();
    return Promise.all(names.map(async (name) => [name, (await old.client.dumpBuffer(name))!.toString('latin1')]));
  };
  expect((await process.apply(id, 'c5', 'before'))[0]).toBe('done');
  await old.client.set(DATA_VERSION_KEY, UPGRADING_VERSION);
  const upgrading = await content();
  const used = (await entriesOf(old.client, id))[0]!;
  const refused = async (): Promise<void> => {
    for (const [account, operation, key] of [
      [id, 'c5', 'after'],
      [id, `c${used.coins}`, used.key],
      [store, 'd-1', 'after'],
      ['a-new-account', 'c5', 'after'],
    ] as const)
      expect(await process.apply(account, operation, key)).toEqual(['other_data']);
    expect(await process.move(id, store)).toEqual(['other_data']);
  };
  await refused();
  expect(await content()).toEqual(upgrading);
  await using service = await start({ redis: old.location });
  expect((await service.get('/ready')).status).toBe(200);
  await expect.poll(() => leftovers(old.client)).toEqual([]);
  const upgraded = await content();
  await refused();
  expect(await content()).toEqual(upgraded);
});

test('data of version 2 that has lost its secret is not upgraded', async () => {
  await using old = await startOldData(2);
  await old.client.del(KEY_SECRET);
  const logLines: string[] = [];
  await using service = await start({ redis: old.location, logLines });
  expect((await service.get('/ready')).status).toBe(503);
  expect(logLines.join('')).toContain(`${KEY_SECRET} is missing`);
  expect(await old.client.get(DATA_VERSION_KEY)).toBe('2');
});
