import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { DataIdFile } from '../../src/process/data-id-file.ts';
import { acceptData, DATA_ID_KEY, dataIdValue, REFUSED, successorOf } from '../../src/redis/data-id.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { freshId, start, type StartOptions, type TestService } from '../harness.ts';
import { MovableRedis } from './movable-redis.ts';

let redis: MovableRedis;
let services: TestService[];
let folder: string;
let logLines: string[];
beforeEach(async () => {
  redis = await MovableRedis.start();
  services = [];
  logLines = [];
  folder = mkdtempSync(join(tmpdir(), 'coinop-refused-'));
});
afterEach(async () => {
  for (const service of services) await service[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function serve(options: StartOptions = {}): Promise<TestService> {
  const service = await start({ redis: redis.location, logLines, ...options });
  services.push(service);
  return service;
}

async function stop(service: TestService): Promise<void> {
  services.splice(services.indexOf(service), 1);
  await service[Symbol.asyncDispose]();
}

/** The memory of a service with this DATA_DIR. */
const memoryOf = (name: string) => new DataIdFile(join(folder, name), pino({ level: 'silent' }));

const credit = (to: TestService, installId: string, key: string) => to.post('/v1/coins/credit', { installId, coins: 1, key });

const readiness = async (service: TestService) => (await service.get('/ready')).status;

const reasonOf = async (service: TestService) => (await service.get('/ready')).body.error.message as string;

const idText = async () => (await redis.client.get(DATA_ID_KEY))!;

const fatal = () => logLines.map((line) => JSON.parse(line) as { level: number; acceptData: string }).filter(({ level }) => level === 60);

/** Lets the service of DATA_DIR `old` see the data 15 s of serving later than it is saved as `older`. @returns the account's install */
async function saveOlder(): Promise<{ installId: string; id: string }> {
  const service = await serve({ dataMemory: memoryOf('old') });
  const installId = freshId();
  expect((await credit(service, installId, 'a')).status).toBe(200);
  await redis.save('older');
  await expect.poll(() => readiness(service)).toBe(200);
  const [id, heartbeat] = (await idText()).split(' ');
  const newer = Number(heartbeat) + 15_000;
  await redis.client.set(DATA_ID_KEY, dataIdValue(id!, newer, Date.now(), 0));
  await expect.poll(() => memoryOf('old').read().newest.heartbeats[DATA_ID_KEY] ?? 0).toBeGreaterThanOrEqual(newer);
  await redis.save('newer');
  await stop(service);
  return { installId, id: id! };
}

/** Does the same as an operator with `npm run admin -- data accept`. */
async function accept(id: string): Promise<string> {
  const to = successorOf(id);
  const scripts = new ScriptRunner(redis.client, { now: Date.now });
  expect(await scripts.run(acceptData, { id: DATA_ID_KEY }, { seen: id, to })).toEqual(['accepted']);
  return to;
}

const OLDER = `this Redis was restored to a state that is 1\\d s older than the one that the service on ${hostname()} saw`;

test('older data that one service refuses is served by no service that knows nothing of it, until it is accepted', async () => {
  const { installId, id } = await saveOlder();
  await redis.load('older');
  const old = await serve({ dataMemory: memoryOf('old') });
  expect(await reasonOf(old)).toMatch(new RegExp(`^Not ready: ${OLDER}: it ends at `));
  await expect.poll(idText).toMatch(new RegExp(`^${REFUSED}${id} `));
  const marked = await idText();
  const fresh = await serve({ dataMemory: memoryOf('fresh') });
  expect(await reasonOf(fresh)).toMatch(
    new RegExp(`^Not ready: ${OLDER}: it ends at .* is missing \\(refused since 2\\S+Z\\)\\. An operator has to bring it back`),
  );
  for (const service of [old, fresh]) {
    expect((await credit(service, installId, 'b')).status).toBe(503);
    expect((await service.get(`/v1/balance?installId=${installId}`)).status).toBe(503);
    await expect.poll(async () => (await service.get('/metrics')).body).toMatch(/^coinop_data_lost 1$/m);
  }
  expect(memoryOf('fresh').read().id).toBeUndefined();
  // Two beats: nobody advances the heartbeat of refused data.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  expect(await idText()).toBe(marked);
  await stop(old);
  const restarted = await serve({ dataMemory: memoryOf('old') });
  expect(await readiness(restarted)).toBe(503);
  const to = await accept(id);
  for (const service of services) {
    await expect.poll(() => readiness(service)).toBe(200);
    expect((await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(1);
  }
  expect([memoryOf('fresh').read().id, memoryOf('old').read().id]).toEqual([to, to]);
  expect(await idText()).toMatch(new RegExp(`^${to} \\d{15} \\d+ \\d+$`));
});

test('a service that already serves older data stops at its next request once another service refuses the data', async () => {
  const { installId } = await saveOlder();
  await redis.load('older');
  const fresh = await serve({ dataMemory: memoryOf('fresh') });
  expect((await credit(fresh, installId, 'b')).status).toBe(200);
  await serve({ dataMemory: memoryOf('old') });
  await expect.poll(idText).toMatch(new RegExp(`^${REFUSED}`));
  // Before its next check of the data.
  expect((await credit(fresh, installId, 'c')).status).toBe(503);
  await expect.poll(() => reasonOf(fresh)).toMatch(new RegExp(`^Not ready: ${OLDER}.*refused since`));
  expect(fatal()).toHaveLength(2);
  // After a restart it knows by the mark, although its own memory has nothing against the data.
  await stop(fresh);
  expect(await readiness(await serve({ dataMemory: memoryOf('fresh') }))).toBe(503);
});

test('services that start at once all refuse older data that one of them refuses', async () => {
  const { installId } = await saveOlder();
  await redis.load('older');
  const names = ['fresh', 'old', 'other'];
  await Promise.all(names.map((name) => serve({ dataMemory: memoryOf(name) })));
  for (const service of services) {
    await expect.poll(async () => (await credit(service, installId, 'b')).status).toBe(503);
    await expect.poll(() => readiness(service)).toBe(503);
  }
});

test('the mark stays over a restart of Redis, and data that takes the place of the refused data is served at once', async () => {
  const { installId, id } = await saveOlder();
  await redis.load('older');
  await serve({ dataMemory: memoryOf('old') });
  await serve({ dataMemory: memoryOf('fresh') });
  await redis.restart();
  const later = await serve();
  expect(await reasonOf(later)).toMatch(/refused since/);
  await redis.load('newer');
  for (const service of services) await expect.poll(() => readiness(service)).toBe(200);
  expect((await credit(later, installId, 'a')).body.replayed).toBe(true);
  expect(await idText()).toMatch(new RegExp(`^${id} `));
});

test('ACCEPT_DATA of the refused data accepts it, also on a service that knows nothing of the data', async () => {
  const { installId, id } = await saveOlder();
  await redis.load('older');
  const old = await serve({ dataMemory: memoryOf('old') });
  await expect.poll(idText).toMatch(new RegExp(`^${REFUSED}`));
  const { acceptData: ACCEPT_DATA } = fatal()[0]!;
  expect(ACCEPT_DATA).toBe(successorOf(id));
  const fresh = await serve({ dataMemory: memoryOf('fresh'), settings: { ACCEPT_DATA } });
  for (const service of [fresh, old]) {
    await expect.poll(() => readiness(service)).toBe(200);
    expect((await credit(service, installId, 'a')).body.replayed).toBe(true);
  }
});

test('a service marks older data only once Redis accepts writes, and the mark hits no data that was accepted meanwhile', async () => {
  const { installId, id } = await saveOlder();
  await redis.load('older');
  await redis.client.config('SET', 'maxmemory', '1mb');
  const old = await serve({ dataMemory: memoryOf('old') });
  expect(await readiness(old)).toBe(503);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(await idText()).toMatch(new RegExp(`^${id} `));
  await redis.client.config('SET', 'maxmemory', '0');
  await expect.poll(idText).toMatch(new RegExp(`^${REFUSED}`));
  // The mark is lost, as by a failover. The service writes it again.
  await redis.client.set(DATA_ID_KEY, (await idText()).slice(REFUSED.length).split(' ').slice(0, 4).join(' '));
  await expect.poll(idText).toMatch(new RegExp(`^${REFUSED}`));
  const to = await accept(id);
  await expect.poll(() => readiness(old)).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(await idText()).toMatch(new RegExp(`^${to} `));
  expect((await credit(old, installId, 'a')).body.replayed).toBe(true);
});

test('data with another secret is refused by services that never saw the right one, until the secret is right again', async () => {
  const seeing = await serve();
  const installId = freshId();
  expect((await credit(seeing, installId, 'a')).status).toBe(200);
  const secret = (await redis.client.get(KEY_SECRET))!;
  await redis.client.set(KEY_SECRET, '0011223344556677');
  await expect.poll(idText).toMatch(new RegExp(`^${REFUSED}`));
  const fresh = await serve();
  const reason = `this Redis has another secret of the ledgers than the service on ${hostname()} saw`;
  expect(await reasonOf(fresh)).toMatch(new RegExp(`^Not ready: ${reason} \\(refused since`));
  await stop(seeing);
  // A third secret is not the right one either.
  await redis.client.set(KEY_SECRET, '8899aabbccddeeff');
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect((await credit(fresh, installId, 'b')).status).toBe(503);
  // The only service that remembered the secret is gone: the mark tells when it is right.
  await redis.client.set(KEY_SECRET, secret);
  await expect.poll(async () => (await credit(fresh, installId, 'a')).body.replayed).toBe(true);
  expect(await idText()).not.toContain(REFUSED);
});

test('data of another id, and an emptied Redis, get no mark', async () => {
  const { installId } = await saveOlder();
  const strange = dataIdValue('A'.repeat(22), 5, Date.now(), 0);
  await redis.load('older');
  await redis.client.set(DATA_ID_KEY, strange);
  const old = await serve({ dataMemory: memoryOf('old') });
  expect(await reasonOf(old)).toContain('has other data');
  // Its own services serve it.
  const own = await serve({ dataMemory: memoryOf('own') });
  expect((await credit(own, installId, 'b')).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect([await readiness(own), await readiness(old)]).toEqual([200, 503]);
  await stop(own);
  await redis.client.flushall();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(await redis.client.dbsize()).toBe(0);
});
