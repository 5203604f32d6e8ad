import { once } from 'node:events';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { halfSipHash } from '../../../src/features/coins/key-hash.ts';
import { KEY_SECRET, OLD_KEY_SECRET } from '../../../src/features/coins/secret-keys.ts';
import { fenceAccount, fileBucket } from '../../../src/features/coins/upgrade-ledgers.ts';
import { acceptData, DATA_ID_KEY, newDataId } from '../../../src/redis/data-id.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../../../src/redis/data-version.ts';
import { ScriptRunner } from '../../../src/redis/script-runner.ts';
import { signIn, start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { historyOf, provision, signInToStore } from '../../store.ts';
import { entriesOf, installs, startOldData, type Entry } from './old-data.ts';

/** Sends the operations of the accounts again, every `step`th: each must be a replay. Then sends new ones: none may be. */
async function checkAccounts(client: Redis, services: readonly TestService[], step = 1): Promise<void> {
  // One account after the other: all operations at once are more than MAX_IN_FLIGHT.
  for (const installId of installs) await checkAccount(installId, client, services, step);
  expect(await client.keys('{*}:keys:?')).toEqual([]);
  expect(await client.keys('{*}:keys:??')).toEqual([]);
}

async function checkAccount(installId: string, client: Redis, services: readonly TestService[], step: number): Promise<void> {
  const all = await entriesOf(client, accountIdOf(installId));
  expect(all.length).toBeGreaterThan(0);
  const entries = all.filter((_, index) => index % step === 0);
  const { balance: last } = all.at(-1)!;
  const send = ({ type, coins, key }: Entry, index: number) =>
    services[index % services.length]!.post(`/v1/coins/${type}`, { installId, coins, key });
  const replays = await Promise.all(entries.map(send));
  expect(replays.map(({ body }) => body)).toEqual(
    entries.map(({ balance }) => ({ ok: true, balanceAfterCoins: balance, replayed: true, balanceCoins: last })),
  );
  // 70 more entries split the buckets at least twice.
  const added = Array.from({ length: 70 }, (_, index) => ({
    type: 'credit' as const,
    coins: 1,
    key: `after ${index}`,
    seq: 0,
    balance: 0,
  }));
  const answers = await Promise.all(added.map(send));
  expect(answers.map(({ body }) => body.balanceAfterCoins).sort((one, other) => one - other)).toEqual(
    added.map((_, index) => last + index + 1),
  );
  expect(answers.filter(({ body }) => body.replayed)).toEqual([]);
  for (const [index, { body }] of (await Promise.all(entries.map(send))).entries())
    expect(body).toMatchObject({ replayed: true, balanceAfterCoins: entries[index]!.balance });
  const history = await historyOf(services[0]!, await signIn(services[0]!, installId));
  expect(history.slice(70).map(({ key }) => key)).toEqual(all.map(({ key }) => key).toReversed());
}

test('a data folder of version 1 is upgraded: every key replays, every balance and history stays', { timeout: 60_000 }, async () => {
  await using old = await startOldData();
  const oldSecret = await old.client.get('ledger:key-secret');
  expect(oldSecret).toMatch(/^[0-9a-f]{16}$/);
  await using service = await start({ redis: old.location });
  expect((await service.get('/ready')).status).toBe(200);
  expect(await old.client.get(DATA_VERSION_KEY)).toBe(String(DATA_VERSION));
  // The same secret under another key. A coinop of version 1 finds none, and then refuses coin operations.
  expect(await old.client.get(KEY_SECRET)).toBe(oldSecret);
  expect(await old.client.get(OLD_KEY_SECRET)).not.toMatch(/^[0-9a-f]{16}$/);
  await checkAccounts(old.client, [service]);
});

test('keys of guests that moved under version 1 are replays for their account', { timeout: 60_000 }, async () => {
  await using old = await startOldData();
  await using service = await start({ redis: old.location });
  for (const [subject, guests] of [
    ['subject-one', ['guest-subject-one-0-of-3', 'guest-subject-one-1-of-30', 'guest-subject-one-2-of-150']],
    ['subject-two', ['guest-subject-two-0-of-12']],
  ] as const) {
    const { body, cookies } = await signInToStore(service, subject);
    const own = await entriesOf(old.client, body.accountId);
    const ofGuest = (installId: string) => entriesOf(old.client, accountIdOf(installId), body.accountId);
    const ledgers = [own, ...(await Promise.all(guests.map(ofGuest)))];
    for (const { type, coins, key, balance } of ledgers.flat()) {
      if (type === 'merge') continue;
      const reply = await service.post(`/v1/coins/${type}`, { coins, key }, { cookies });
      expect([key, reply.body]).toEqual([key, { ok: true, balanceAfterCoins: balance, replayed: true, balanceCoins: own.at(-1)!.balance }]);
    }
    expect(await historyOf(service, cookies)).toHaveLength(ledgers.flat().length);
  }
});

test.each([0, 1, 20, 60])('an upgrade that was cut off after %i buckets goes on', { timeout: 60_000 }, async (count) => {
  await using old = await startOldData();
  // What is left in Redis then: the secret under its new key, all accounts fenced, some buckets filed, no version.
  const secret = (await old.client.get(OLD_KEY_SECRET))!;
  await old.client.multi().set(KEY_SECRET, secret).set(OLD_KEY_SECRET, 'upgraded').exec();
  const hash = halfSipHash(Buffer.from(secret, 'hex'));
  const scripts = new ScriptRunner(old.client, { now: Date.now });
  for (const ledger of await old.client.keys('{*}:ledger')) {
    const keys = { ledger, moves: ledger.replace(/ledger$/, 'moves') };
    for (let times = 0; times < 2; times++) expect(await scripts.run(fenceAccount, keys, {})).toEqual(['fenced']);
  }
  const buckets = (await old.client.keys('{*}:keys:*')).filter((key) => /\d$/.test(key)).sort();
  expect(buckets.length).toBeGreaterThan(60);
  for (const bucket of buckets.slice(0, count)) {
    const account = bucket.slice(0, bucket.indexOf('}') + 1);
    const places = Object.entries(await old.client.hgetall(bucket));
    const hashes = places.map(([key, place]) => `${hash(key)} ${Math.floor(Number(place) / 65_536)}\n`).join('');
    const keys = { bucket, ledger: `${account}:ledger` };
    expect(await scripts.run(fileBucket, keys, { hashes })).toEqual(['filed']);
    expect(await scripts.run(fileBucket, keys, { hashes })).toEqual(['gone']);
  }
  await using service = await start({ redis: old.location });
  await checkAccounts(old.client, [service], 7);
});

test('two services that start together upgrade the data once', { timeout: 60_000 }, async () => {
  await using old = await startOldData();
  const services = await Promise.all([start({ redis: old.location }), start({ redis: old.location })]);
  try {
    for (const service of services) await expect.poll(async () => (await service.get('/ready')).status, { timeout: 5000 }).toBe(200);
    await checkAccounts(old.client, services, 7);
  } finally {
    for (const service of services) await service[Symbol.asyncDispose]();
  }
});

test('a coinop of version 1 in another database of the Redis does not stop the upgrade', async () => {
  await using old = await startOldData();
  const older = new Redis({ path: old.location.socketPath, connectionName: 'coinop', db: 1 });
  await once(older, 'ready');
  try {
    await using service = await start({ redis: old.location });
    await expect.poll(async () => (await service.get('/ready')).status, { timeout: 5000 }).toBe(200);
  } finally {
    older.disconnect();
  }
});

test('while a coinop of version 1 is connected, the service waits and says so', { timeout: 30_000 }, async () => {
  await using old = await startOldData();
  const older = new Redis({ path: old.location.socketPath, connectionName: 'coinop' });
  await once(older, 'ready');
  const logLines: string[] = [];
  await using service = await start({ redis: old.location, logLines });
  const installId = installs[0]!;
  const balance = (await entriesOf(old.client, accountIdOf(installId))).at(-1)!.balance;
  const credit = () => service.post('/v1/coins/credit', { installId, coins: 5, key: 'new' });
  try {
    expect((await service.get('/ready')).status).toBe(503);
    expect((await credit()).body.error).toMatchObject({ code: 'store_unavailable', retryAfterMs: expect.any(Number) });
    expect((await credit()).body.error.outcome).toBeUndefined();
    expect((await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(balance);
    expect(logLines.filter((line) => line.includes('an older coinop uses this Redis'))).toHaveLength(1);
  } finally {
    older.disconnect();
  }
  await expect.poll(async () => (await credit()).status, { timeout: 5000 }).toBe(200);
  expect((await service.get('/ready')).status).toBe(200);
});

/** Once the service refuses the data, which has no id: what an operator does by `npm run admin -- data accept`. */
async function accept(service: TestService, redis: Redis): Promise<void> {
  await expect.poll(async () => (await service.get('/ready')).body.error?.message).toContain('An operator has to bring it back');
  const scripts = new ScriptRunner(redis, { now: Date.now });
  expect(await scripts.run(acceptData, { id: DATA_ID_KEY }, { seen: '', to: newDataId() })).toEqual(['accepted']);
}

test('a service whose Redis was restored to data of version 1 upgrades it before it changes a balance', { timeout: 60_000 }, async () => {
  await using old = await startOldData();
  await using own = await startRedis();
  await using service = await start({ redis: own.location });
  const target = service.service.redis;
  // The restored data arrives while the service is connected.
  await target.flushall();
  for (const key of await old.client.keys('*')) await target.restore(key, 0, (await old.client.dumpBuffer(key))!);
  const back = once(target, 'ready');
  target.disconnect(true);
  await back;
  await accept(service, target);
  await expect.poll(() => target.get(DATA_VERSION_KEY), { timeout: 5000 }).toBe(String(DATA_VERSION));
  await expect.poll(async () => (await service.get('/ready')).status).toBe(200);
  const [{ type, coins, key, balance }] = (await entriesOf(target, accountIdOf(installs[6]!))) as [Entry];
  expect((await service.post(`/v1/coins/${type}`, { installId: installs[6], coins, key })).body).toMatchObject({
    replayed: true,
    balanceAfterCoins: balance,
  });
});

test('a coinop of version 1 finds its secret as long as another one of them keeps the upgrade waiting', { timeout: 30_000 }, async () => {
  await using old = await startOldData();
  const secret = await old.client.get(OLD_KEY_SECRET);
  const older = new Redis({ path: old.location.socketPath, connectionName: 'coinop' });
  await once(older, 'ready');
  try {
    await using service = await start({ redis: old.location });
    expect((await service.get('/ready')).status).toBe(503);
    expect(await old.client.get(OLD_KEY_SECRET)).toBe(secret);
  } finally {
    older.disconnect();
  }
});

test('an upgrade stops when a coinop of version 1 connects, and goes on when it has left', { timeout: 30_000 }, async () => {
  await using old = await startOldData();
  const logLines: string[] = [];
  // Another process holds the lease, so that the service waits after its first look at the connections.
  await old.client.set('data:upgrading', 'another process', 'PX', 60_000);
  await using service = await start({ redis: old.location, logLines });
  const older = new Redis({ path: old.location.socketPath, connectionName: 'coinop' });
  await once(older, 'ready');
  try {
    await old.client.del('data:upgrading');
    await expect.poll(() => logLines.filter((line) => line.includes('an older coinop uses this Redis')).length, { timeout: 5000 }).toBe(1);
    expect(await old.client.get(DATA_VERSION_KEY)).toBe(null);
  } finally {
    older.disconnect();
  }
  await expect.poll(async () => (await service.get('/ready')).status, { timeout: 5000 }).toBe(200);
  await checkAccounts(old.client, [service], 7);
});

test('a process whose upgrade is late leaves the version of a newer coinop', { timeout: 30_000 }, async () => {
  await using old = await startOldData();
  const logLines: string[] = [];
  await old.client.set('data:upgrading', 'another process', 'PX', 60_000);
  await using service = await start({ redis: old.location, logLines });
  await old.client
    .multi()
    .set(DATA_VERSION_KEY, DATA_VERSION + 1)
    .del('data:upgrading')
    .exec();
  await expect.poll(() => logLines.filter((line) => line.includes(`version ${DATA_VERSION + 1}`)).length, { timeout: 5000 }).toBe(1);
  expect(await old.client.get(DATA_VERSION_KEY)).toBe(String(DATA_VERSION + 1));
  expect((await service.post('/v1/coins/credit', { installId: installs[0]!, coins: 5, key: 'new' })).status).toBe(503);
});

test('operations wait if Redis is restored to data of version 1 under open connections', { timeout: 60_000 }, async () => {
  await using old = await startOldData();
  await using own = await startRedis();
  await using service = await start({ redis: own.location });
  const target = service.service.redis;
  const dumps = await Promise.all((await old.client.keys('*')).map(async (key) => [key, (await old.client.dumpBuffer(key))!] as const));
  const restore = target.multi().flushall();
  for (const [key, dump] of dumps) restore.restore(key, 0, dump);
  await restore.exec();
  // No connection has broken, so only the scripts can notice that the data is another.
  const installId = installs[6]!;
  const [{ type, coins, key, balance }] = (await entriesOf(old.client, accountIdOf(installId))) as [Entry];
  const send = () => service.post(`/v1/coins/${type}`, { installId, coins, key });
  const { status, body } = await send();
  expect([status, body.error?.code, body.error?.outcome]).toEqual([503, 'store_unavailable', undefined]);
  await accept(service, target);
  await expect.poll(async () => (await send()).status, { timeout: 5000 }).toBe(200);
  expect((await send()).body).toMatchObject({ replayed: true, balanceAfterCoins: balance });
  await checkAccounts(target, [service], 7);
});

test('a guest does not move while Redis has other data than the service has read', { timeout: 60_000 }, async () => {
  await using own = await startRedis();
  await using service = await start({ redis: own.location });
  const installId = 'a-guest-that-moves';
  expect((await service.post('/v1/coins/credit', { installId, coins: 5, key: 'a' })).status).toBe(200);
  await service.service.redis.del(DATA_VERSION_KEY);
  const refused = await provision(service, 'subject-of-other-data', { installId });
  expect([refused.status, refused.body.error]).toMatchObject([503, { code: 'store_unavailable' }]);
  expect(refused.body.error.outcome).toBeUndefined();
  await expect.poll(async () => (await service.get('/ready')).status, { timeout: 5000 }).toBe(200);
  expect((await provision(service, 'subject-of-other-data', { installId })).body).toMatchObject({ moved: true, movedCoins: 5 });
});

test('data of a newer version stops the start, and names both versions', async () => {
  await using own = await startRedis();
  const client = new Redis({ path: (own.location as { socketPath: string }).socketPath });
  try {
    await client.set(DATA_VERSION_KEY, DATA_VERSION + 1);
    await expect(start({ redis: own.location })).rejects.toThrow(
      `The data in this Redis has version ${DATA_VERSION + 1}, and this coinop knows versions up to ${DATA_VERSION}.`,
    );
    await client.set(DATA_VERSION_KEY, 'two');
    await expect(start({ redis: own.location })).rejects.toThrow('"two"');
  } finally {
    client.disconnect();
  }
});

test('a running service leaves a Redis that has data of a newer version', async () => {
  await using own = await startRedis();
  const logLines: string[] = [];
  await using service = await start({ redis: own.location, logLines });
  const client = new Redis({ path: (own.location as { socketPath: string }).socketPath });
  try {
    await client.set(DATA_VERSION_KEY, DATA_VERSION + 1);
    await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await expect.poll(() => logLines.filter((line) => line.includes('redis cannot be used')).length, { timeout: 5000 }).toBeGreaterThan(0);
    await expect
      .poll(async () => (await service.post('/v1/coins/credit', { installId: 'a-newer-install', coins: 1, key: 'a' })).status)
      .toBe(503);
    expect((await service.get('/ready')).status).toBe(503);
  } finally {
    client.disconnect();
  }
});
