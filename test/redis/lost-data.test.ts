import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect } from 'vitest';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { DataIdFile } from '../../src/process/data-id-file.ts';
import { DATA_ID_KEY, dataIdValue, successorOf } from '../../src/redis/data/data-id.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../../src/redis/data/data-version.ts';
import { freshId, sleep } from '../harness.ts';
import { credit, readiness, reasonOf, testsOnMovableRedis, untilHolds, untilReady } from './movable-services.ts';
import type { MovableRedis } from './movable-redis.ts';

const ANOTHER_ID = 'AAAAAAAAAAAAAAAAAAAAAA';
const testData = testsOnMovableRedis((place, installId) => ({
  setId: (id: string, heartbeat: number) => place.redis.client.set(DATA_ID_KEY, dataIdValue(id, heartbeat, Date.now(), 0)),

  /** Expects that the services neither serve the data that Redis now has nor write to it. */
  async expectRefused(): Promise<void> {
    for (const service of place.services) {
      for (let number = 0; number < 20; number++)
        for (const install of [installId, freshId()]) expect((await credit(service, install, `refused-${number}`)).status).toBe(503);
      await untilHolds(async () => expect((await service.get(`/v1/balance?installId=${installId}`)).status).toBe(503));
      await untilHolds(async () => expect(await reasonOf(service)).toMatch(/An operator has to bring it back, or to accept what is there/));
      await untilHolds(async () => expect((await service.get('/metrics')).body).toMatch(/^coinop_data_lost 1$/m));
      expect((await service.get('/health')).status).toBe(200);
    }
    await untilHolds(() => expect(place.fatal().length).toBe(place.services.length));
  },

  async expectServed(balanceCoins: number): Promise<void> {
    for (const [index, service] of place.services.entries()) {
      await untilReady(service);
      const { body } = await service.get(`/v1/balance?installId=${installId}`);
      expect(body).toEqual({ ok: true, balanceCoins: balanceCoins + index });
      expect((await credit(service, installId, freshId())).status).toBe(200);
      await untilHolds(async () => expect((await service.get('/metrics')).body).toMatch(/^coinop_data_lost 0$/m));
    }
  },
}));

testData(
  'an emptied Redis is refused by every process until it is accepted, and nothing is written into it',
  async ({ place, redis, expectRefused, expectServed, expect }) => {
    await place.serve();
    await place.serve();
    await redis.client.flushall();
    await expectRefused();
    expect(await redis.client.keys('*')).toEqual([]);
    await place.accept();
    await expectServed(0);
    // The secret stays the one that the processes know, and with it the hashes of used keys.
    expect(await redis.client.mget(DATA_VERSION_KEY, KEY_SECRET)).toEqual([String(DATA_VERSION), expect.stringMatching(/^[0-9a-f]{16}$/)]);
  },
);

testData(
  'a Redis that starts without its data is refused, and served again once it has its data',
  async ({ place, redis, installId, expectRefused, expectServed, expect }) => {
    const service = await place.serve();
    await credit(service, installId, 'a');
    await redis.save('whole');
    await untilReady(service);
    await redis.load();
    await expectRefused();
    expect(await redis.client.dbsize()).toBe(0);
    await redis.load('whole');
    await expectServed(1);
    expect((await credit(service, installId, 'a')).body.replayed).toBe(true);
  },
);

testData(
  'the data of another coinop is refused, and adopted with its secret once it is accepted',
  async ({ place, redis, installId, expectRefused, expectServed, expect }) => {
    await credit(await place.serve(), installId, 'a');
    await place.stopAll();
    await redis.save('other');
    await redis.load();
    const service = await place.serve();
    await redis.load('other');
    await expectRefused();
    expect(place.fatal()[0]!.acceptData).toBe((await place.dataId()).id);
    await place.accept();
    await expectServed(1);
    expect((await credit(service, installId, 'a')).body.replayed).toBe(true);
  },
);

testData(
  'a Redis that was restored to an older state is refused, also after a restart, and served where it was accepted',
  async ({ place, redis, installId, expectRefused, expectServed, expect }) => {
    const dataMemory = place.memory();
    const service = await place.serve({ dataMemory });
    await redis.save('older');
    await untilReady(service);
    const { id } = await place.dataId();
    const newer = await place.serveLonger(15_000);
    await expect.poll(async () => (await place.dataId()).heartbeat).toBeGreaterThan(newer);
    await place.seen();
    await redis.load('older');
    await expectRefused();
    await place.stopAll();
    place.logLines = [];
    expect((await credit(await place.serve({ dataMemory }), installId, 'b')).status).toBe(503);
    const [{ acceptData: ACCEPT_DATA } = { acceptData: '' }] = place.fatal();
    await place.stopAll();
    await place.serve({ dataMemory, settings: { ACCEPT_DATA } });
    await expectServed(0);
    expect((await place.dataId()).id).toBe(successorOf(id));
    // The acceptance is enough for a process that knew the data before it.
    await place.stopAll();
    dataMemory.write(id);
    await place.serve({ dataMemory });
    await expectServed(1);
  },
);

testData('heartbeats of other data, and a damaged file of them, do not count', async ({ place, installId, expect }) => {
  const dataMemory = place.memory();
  await credit(await place.serve({ dataMemory }), installId, 'a');
  await place.stopAll();
  const { id } = await place.dataId();
  const far = { [DATA_ID_KEY]: Number.MAX_SAFE_INTEGER };
  const keep = (text: string) => writeFileSync(join(place.folder, 'own', 'data-heartbeats'), text);
  const ofOther = JSON.stringify({ id: ANOTHER_ID, heartbeats: far });
  for (const text of [ofOther, '', '{', 'null', '[1]', JSON.stringify({ id, heartbeats: { [DATA_ID_KEY]: 'x' } })]) {
    keep(text);
    expect([text, await readiness(await place.serve({ dataMemory }))]).toEqual([text, 200]);
    await place.stopAll();
  }
  // A time that no date has.
  keep(JSON.stringify({ id, heartbeats: far, times: far }));
  expect(await reasonOf(await place.serve({ dataMemory }))).toMatch(/ s older than the one that the service on \S+ saw\. /);
});

for (const [lag, settings, lagMs] of [
  // Much less than ten seconds, because a slow machine needs some of them for what follows.
  ['that lagged by seconds', {}, 1000],
  ['that was cut off for long, with REDIS_WAIT_REPLICAS: it lacks only unacknowledged writes', { REDIS_WAIT_REPLICAS: '1' }, 60_000],
] as const)
  testData(
    `data is served after a failover to a replica ${lag}, and the lost writes are reported`,
    async ({ place, redis, installId, expect }) => {
      const startedAt = Date.now();
      const service = await place.serve({ settings });
      await untilReady(service);
      await redis.save('lagging');
      const aheadAt = Date.now();
      await place.serveLonger(lagMs);
      await place.seen();
      await redis.load('lagging');
      const lines = () => place.logLines.filter((line) => line.includes('redis came back in an older state'));
      await expect.poll(() => lines().length).toBe(1);
      const [, from, until] = /older state: what was written between (\S+Z) and (\S+Z) may be lost/.exec(lines()[0]!)!.map(Date.parse);
      expect([startedAt <= from!, from! <= aheadAt, aheadAt <= until!]).toEqual([true, true, true]);
      expect((await service.get(`/v1/balance?installId=${installId}`)).status).toBe(200);
      expect([lines().length, place.fatal()]).toEqual([1, []]);
    },
  );

testData('with REDIS_WAIT_REPLICAS nothing is written into an emptied Redis either', async ({ place, redis, installId, expect }) => {
  const service = await place.serve({ settings: { REDIS_WAIT_REPLICAS: '1' } });
  await redis.client.flushall();
  expect((await credit(service, installId, 'a')).status).toBe(503);
  expect(await redis.client.keys('*')).toEqual([]);
});

testData(
  'data that was accepted is served although the clock of Redis was set back meanwhile',
  async ({ place, redis, setId, expectServed, expect }) => {
    await place.serve();
    await setId(ANOTHER_ID, 0);
    await expect.poll(() => place.fatal().length).toBe(1);
    // An hour before the loss.
    const at = Date.now() - 3_600_000;
    await redis.client.set(DATA_ID_KEY, dataIdValue(successorOf(ANOTHER_ID), 0, at, at));
    await expectServed(0);
  },
);

testData('ACCEPT_DATA that stays set does not accept data in whose place other data was accepted', async ({ place, setId, expect }) => {
  const service = await place.serve({ settings: { ACCEPT_DATA: ANOTHER_ID } });
  const status = async () => (await credit(service, freshId(), 'a')).status;
  await setId(ANOTHER_ID, 0);
  await expect.poll(status).toBe(200);
  await place.accept();
  await expect.poll(status).toBe(200);
  await setId(ANOTHER_ID, 60_000);
  await expect.poll(() => place.fatal().length).toBe(1);
  expect(await status()).toBe(503);
});

for (const [value, write] of [
  ['a text', ({ client }: MovableRedis) => client.set(DATA_ID_KEY, 'no id')],
  ['a list', ({ client }: MovableRedis) => client.multi().del(DATA_ID_KEY).lpush(DATA_ID_KEY, 'no id').exec()],
] as const)
  testData(
    `${value} in place of the id is refused at once, and can be accepted`,
    async ({ place, redis, installId, expectServed, expect }) => {
      const service = await place.serve();
      expect((await credit(service, installId, 'a')).status).toBe(200);
      await write(redis);
      // Not only after the next check of the data.
      expect((await credit(service, installId, 'a')).status).toBe(503);
      await expect.poll(() => place.fatal().length).toBe(1);
      await place.accept(place.fatal()[0]!.acceptData);
      await expectServed(1);
    },
  );

testData('watchers are sent away from lost data, and are not let in before it is accepted', async ({ place, redis, installId, expect }) => {
  const service = await place.serve();
  const { body } = await service.post('/v1/rooms', { installId, game: 'chess', capacity: 2, state: {} });
  const open = () => new WebSocket(`${service.url.replace('http', 'ws')}/v1/rooms/${body.room.code}/live`);
  const socket = open();
  await new Promise((resolve) => socket.addEventListener('message', resolve, { once: true }));
  const closed = new Promise<number>((resolve) => socket.addEventListener('close', ({ code }) => resolve(code)));
  await redis.client.flushall();
  expect(await closed).toBe(4009);
  const again = open();
  expect(await new Promise((resolve) => again.addEventListener('error', () => resolve('refused')))).toBe('refused');
});

testData('processes that start together on an empty Redis agree on one id, and keep it in DATA_DIR', async ({ place, expect }) => {
  const names = ['a', 'b', 'c', 'd'];
  await Promise.all(names.map((name) => place.serve({ dataMemory: place.memory(name) })));
  const { id } = await place.dataId();
  expect(names.map((name) => readFileSync(join(place.folder, name, 'data-id'), 'utf8'))).toEqual(names.map(() => `${id}\n`));
  expect(place.fatal()).toEqual([]);
});

testData('data of a release without ids gets one, once, and keeps its coins', async ({ place, redis, installId, expectServed, expect }) => {
  await credit(await place.serve(), installId, 'a');
  await place.stopAll();
  await redis.client.del(DATA_ID_KEY);
  await Promise.all([place.serve({ dataMemory: place.memory() }), place.serve()]);
  const { id } = await place.dataId();
  await expectServed(1);
  expect([place.memory().read().id, (await place.dataId()).id, place.fatal()]).toEqual([id, id, []]);
});

testData(
  'a process that starts on an emptied Redis knows by DATA_DIR that it had data, and ACCEPT_DATA accepts this loss alone',
  async ({ place, redis, installId, expectServed, expect }) => {
    const dataMemory = place.memory();
    const again = async (ACCEPT_DATA = '') => {
      await place.stopAll();
      return place.serve({ dataMemory, settings: { ACCEPT_DATA } });
    };
    await again();
    // A service that ran on would find the loss itself.
    await place.stopAll();
    await redis.client.flushall();
    const refusing = await again();
    expect([await readiness(refusing), (await credit(refusing, installId, 'a')).status, await redis.client.dbsize()]).toEqual([
      503, 503, 0,
    ]);
    const { acceptData, msg } = place.fatal()[0]!;
    // The same is found where REDIS_URL now names another Redis.
    expect(msg).toContain('If this is another Redis than before, give the service another DATA_DIR.');
    // The id of another loss.
    expect(await readiness(await again(successorOf(acceptData)))).toBe(503);
    await again(acceptData);
    // Another process that knew the lost data.
    await place.serve({ settings: { ACCEPT_DATA: acceptData } });
    await expectServed(0);
    expect((await place.dataId()).id).toBe(acceptData);
    await redis.client.flushall();
    await expect.poll(() => readiness(place.services[0]!)).toBe(503);
    expect(await readiness(await again(acceptData))).toBe(503);
  },
);

testData(
  'a service that starts while Redis refuses writes answers reads, and refuses an emptied Redis',
  async ({ place, redis, installId, expect }) => {
    const dataMemory = place.memory();
    await credit(await place.serve({ dataMemory }), installId, 'a');
    await place.stopAll();
    await redis.client.config('SET', 'maxmemory', '1mb');
    const full = await place.serve();
    expect((await full.get(`/v1/balance?installId=${installId}`)).body).toEqual({ ok: true, balanceCoins: 1 });
    expect((await credit(full, installId, 'b')).status).toBe(503);
    expect(await reasonOf(full)).toContain('refuses writes');
    await place.stopAll();
    await redis.client.flushall();
    const emptied = await place.serve({ dataMemory });
    expect((await emptied.get(`/v1/balance?installId=${installId}`)).status).toBe(503);
    expect(await reasonOf(emptied)).toContain('has lost its data');
    // A first start waits until it may write.
    const first = await place.serve();
    await redis.client.config('SET', 'maxmemory', '0');
    await expect.poll(async () => (await credit(first, installId, 'c')).status).toBe(200);
  },
);

testData(
  'a service that starts on a replica says so, answers reads, and writes once the replica is promoted',
  async ({ place, redis, installId, expect }) => {
    await credit(await place.serve(), installId, 'a');
    await place.stopAll();
    await redis.client.replicaof('127.0.0.1', '1');
    const service = await place.serve();
    await expect.poll(() => reasonOf(service)).toContain('this redis is a replica');
    await expect.poll(async () => (await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(1);
    const connections = async () => Number(/total_connections_received:(\d+)/.exec(await redis.client.info('stats'))![1]);
    const before = await connections();
    await sleep(1500);
    // A look that writes closes its connection, so every such look would open another.
    expect((await connections()) - before).toBeLessThan(10);
    await redis.client.replicaof('NO', 'ONE');
    await expect.poll(async () => (await credit(service, installId, 'b')).status).toBe(200);
  },
);

testData('a service starts where DATA_DIR cannot be written, and warns once', async ({ place, expectServed, expect }) => {
  mkdirSync(join(place.folder, 'data-id'));
  writeFileSync(join(place.folder, 'data-id', 'in-the-way'), '');
  const warnings: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
  await place.serve({ dataMemory: new DataIdFile(place.folder, log) });
  await expectServed(0);
  expect(warnings.filter((line) => line.includes('DATA_DIR cannot be written'))).toHaveLength(1);
});
