import { hostname } from 'node:os';
import { expect } from 'vitest';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { DATA_ID_KEY, dataIdValue, REFUSED, successorOf } from '../../src/redis/data/data-id.ts';
import { freshId, sleep, type TestService } from '../harness.ts';
import { credit, readiness, reasonOf, testsOnMovableRedis, untilHolds, untilReady } from './movable-services.ts';

const testData = testsOnMovableRedis((place, installId) => {
  /** A service with the memory of this DATA_DIR. */
  const serve = (name: string, settings: Record<string, string> = {}) => place.serve({ dataMemory: place.memory(name), settings });
  const idText = () => place.idText();
  return {
    serve,
    idText,
    untilMarked: () => untilHolds(async () => expect(await idText()).toMatch(new RegExp(`^${REFUSED}`))),
    replays: async (service: TestService) => (await credit(service, installId, 'a')).body.replayed,

    /** Lets the service of DATA_DIR `old` see the data 15 s of serving later than it is saved as `older`, and loads that. @returns the id */
    async loadOlder(): Promise<string> {
      const service = await serve('old');
      expect((await credit(service, installId, 'a')).status).toBe(200);
      await place.redis.save('older');
      await untilReady(service);
      const { id } = await place.dataId();
      const newer = await place.serveLonger(15_000);
      await untilHolds(() => expect(place.memory('old').read().newest.heartbeats[DATA_ID_KEY] ?? 0).toBeGreaterThanOrEqual(newer));
      await place.redis.save('newer');
      await place.stop(service);
      await place.redis.load('older');
      return id;
    },
  };
});

/** Two beats. */
const someBeats = () => sleep(2000);

const OLDER = `this Redis was restored to a state that is \\d\\d s older than the one that the service on ${hostname()} saw`;

testData(
  'older data that one service refuses is served by no service that knows nothing of it, until it is accepted',
  async ({ place, installId, serve, idText, loadOlder, expect }) => {
    const id = await loadOlder();
    const old = await serve('old');
    const lastSeen = new Date(place.memory('old').read().newest.times[DATA_ID_KEY]!).toISOString();
    const what = `${OLDER}: it ends at \\S+Z, and what was acknowledged from then until ${lastSeen} is missing`;
    expect(await reasonOf(old)).toMatch(
      new RegExp(`^Not ready: ${what}\\. An operator has to bring it back, or to accept what is there: npm run admin -- data accept`),
    );
    await expect.poll(idText).toMatch(new RegExp(`^${REFUSED}${id} `));
    const marked = await idText();
    const fresh = await serve('fresh');
    expect(await reasonOf(fresh)).toMatch(new RegExp(`^Not ready: ${what} \\(refused since 2\\S+Z\\)\\. An operator has to bring it back`));
    for (const service of [old, fresh]) {
      expect((await credit(service, installId, 'b')).status).toBe(503);
      expect((await service.get(`/v1/balance?installId=${installId}`)).status).toBe(503);
      await expect.poll(async () => (await service.get('/metrics')).body).toMatch(/^coinop_data_lost 1$/m);
    }
    expect(place.memory('fresh').read().id).toBeUndefined();
    await someBeats();
    // Nobody advances the heartbeat of refused data.
    expect(await idText()).toBe(marked);
    await place.stop(old);
    expect(await readiness(await serve('old'))).toBe(503);
    const to = await place.accept();
    for (const service of place.services) {
      await untilReady(service);
      expect((await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(1);
    }
    expect([place.memory('fresh').read().id, place.memory('old').read().id]).toEqual([to, to]);
    expect(await idText()).toMatch(new RegExp(`^${to} \\d{15} \\d+ \\d+$`));
  },
);

testData('a service still knows that data is older if Redis was emptied in between', async ({ place, redis, serve, loadOlder, expect }) => {
  await loadOlder();
  const { newest } = place.memory('old').read();
  await redis.client.flushall();
  const emptied = await serve('old');
  expect(await reasonOf(emptied)).toContain('has lost its data: it is empty');
  await place.stop(emptied);
  expect(place.memory('old').read().newest).toEqual(newest);
  await redis.load('older');
  expect(await reasonOf(await serve('old'))).toMatch(new RegExp(OLDER));
});

testData(
  'a service that already serves older data stops at its next request once another service refuses the data',
  async ({ place, installId, serve, untilMarked, loadOlder, expect }) => {
    await loadOlder();
    const fresh = await serve('fresh');
    expect((await credit(fresh, installId, 'b')).status).toBe(200);
    await serve('old');
    await untilMarked();
    // Before its next check of the data.
    expect((await credit(fresh, installId, 'c')).status).toBe(503);
    await expect.poll(() => reasonOf(fresh)).toMatch(new RegExp(`^Not ready: ${OLDER}.*refused since`));
    expect(place.fatal()).toHaveLength(2);
    // After a restart it knows by the refusal note, although its own memory has nothing against the data.
    await place.stop(fresh);
    expect(await readiness(await serve('fresh'))).toBe(503);
  },
);

testData(
  'the refusal note stays over a restart of Redis, and data that takes the place of the refused data is served at once',
  async ({ place, redis, serve, idText, replays, loadOlder, expect }) => {
    const id = await loadOlder();
    await serve('old');
    await serve('fresh');
    await redis.restart();
    const later = await serve('later');
    expect(await reasonOf(later)).toMatch(/refused since/);
    await redis.load('newer');
    for (const service of place.services) await untilReady(service);
    expect([await replays(later), await idText()]).toEqual([true, expect.stringMatching(new RegExp(`^${id} `))]);
  },
);

testData(
  'ACCEPT_DATA of the refused data accepts it, also on a service that knows nothing of the data',
  async ({ place, serve, untilMarked, replays, loadOlder, expect }) => {
    const id = await loadOlder();
    const old = await serve('old');
    await untilMarked();
    const { acceptData: ACCEPT_DATA } = place.fatal()[0]!;
    expect(ACCEPT_DATA).toBe(successorOf(id));
    for (const service of [await serve('fresh', { ACCEPT_DATA }), old]) {
      await untilReady(service);
      expect(await replays(service)).toBe(true);
    }
  },
);

testData(
  'a service notes its refusal in older data only once Redis accepts writes, and never in data that was accepted meanwhile',
  async ({ place, redis, serve, idText, untilMarked, replays, loadOlder, expect }) => {
    const id = await loadOlder();
    await redis.client.config('SET', 'maxmemory', '1mb');
    const old = await serve('old');
    expect(await readiness(old)).toBe(503);
    await someBeats();
    expect(await idText()).toMatch(new RegExp(`^${id} `));
    await redis.client.config('SET', 'maxmemory', '0');
    await untilMarked();
    // The note is lost, as by a failover. The service writes it again.
    await redis.client.set(DATA_ID_KEY, (await idText()).slice(REFUSED.length).split(' ').slice(0, 4).join(' '));
    await untilMarked();
    const to = await place.accept();
    await untilReady(old);
    await someBeats();
    expect([await idText(), await replays(old)]).toEqual([expect.stringMatching(new RegExp(`^${to} `)), true]);
  },
);

testData(
  'data with another secret is refused by all services, until the secret is right again',
  async ({ place, redis, installId, serve, idText, untilMarked, replays, expect }) => {
    const seeing = await serve('seeing');
    expect((await credit(seeing, installId, 'a')).status).toBe(200);
    const secret = (await redis.client.get(KEY_SECRET))!;
    await redis.client.set(KEY_SECRET, '0011223344556677');
    await untilMarked();
    expect((await credit(seeing, installId, 'b')).status).toBe(503);
    const fresh = await serve('fresh');
    const reason = `this Redis has another secret of the ledgers than the service on ${hostname()} saw`;
    expect(await reasonOf(fresh)).toMatch(new RegExp(`^Not ready: ${reason} \\(refused since`));
    await place.stop(seeing);
    // A third secret is not the right one either.
    await redis.client.set(KEY_SECRET, '8899aabbccddeeff');
    await someBeats();
    expect((await credit(fresh, installId, 'b')).status).toBe(503);
    // The only service that remembered the secret is gone: the note tells when it is right.
    await redis.client.set(KEY_SECRET, secret);
    await expect.poll(() => replays(fresh)).toBe(true);
    expect(await idText()).not.toContain(REFUSED);
  },
);

testData('data of another id, and an emptied Redis, get no refusal note', async ({ place, redis, installId, serve, loadOlder, expect }) => {
  await loadOlder();
  await redis.client.set(DATA_ID_KEY, dataIdValue('A'.repeat(22), 5, Date.now(), 0));
  const old = await serve('old');
  expect(await reasonOf(old)).toContain('has other data');
  // Its own services serve it.
  const own = await serve('own');
  expect((await credit(own, installId, 'b')).status).toBe(200);
  await someBeats();
  expect([await readiness(own), await readiness(old)]).toEqual([200, 503]);
  await place.stop(own);
  await redis.client.flushall();
  await someBeats();
  expect(await redis.client.dbsize()).toBe(0);
});
