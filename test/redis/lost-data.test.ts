import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { DataIdFile } from '../../src/process/data-id-file.ts';
import { acceptData, anyIdIn, DATA_ID_KEY, dataIdValue, successorOf, succeeds } from '../../src/redis/data-id.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../../src/redis/data-version.ts';
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
  folder = mkdtempSync(join(tmpdir(), 'coinop-lost-'));
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

const memory = () => new DataIdFile(folder, pino({ level: 'silent' }));

async function stopAll(): Promise<void> {
  for (const service of services.splice(0)) await service[Symbol.asyncDispose]();
}

const credit = (to: TestService, installId: string, key: string) => to.post('/v1/coins/credit', { installId, coins: 1, key });

/** The id and the heartbeat in Redis. */
async function dataId(): Promise<{ id: string; heartbeat: number }> {
  const [id, heartbeat] = (await redis.client.get(DATA_ID_KEY))!.split(' ');
  return { id: id!, heartbeat: Number(heartbeat) };
}

/** Does the same as an operator with `npm run admin -- data accept`. */
async function accept(): Promise<string> {
  const seen = anyIdIn(await redis.client.get(DATA_ID_KEY)) ?? '';
  const to = successorOf(seen === '' ? 'data that nobody names' : seen);
  const scripts = new ScriptRunner(redis.client, { now: Date.now });
  expect(await scripts.run(acceptData, { id: DATA_ID_KEY }, { seen, to })).toEqual(['accepted']);
  return to;
}

const fatal = () =>
  logLines.map((line) => JSON.parse(line) as { level: number; msg: string; acceptData: string }).filter(({ level }) => level === 60);

/** Credits and balances without a pause, until `stop`. */
class Load {
  readonly after: { route: string; status: number; at: number }[] = [];
  #isStopped = false;
  readonly #clients: Promise<void>[];
  #number = 0;

  constructor(installId: string) {
    this.#clients = services.flatMap((service) => [
      this.#repeat('credit', () => credit(service, installId, `load-${this.#number++}`)),
      this.#repeat('credit', () => credit(service, freshId(), `load-${this.#number++}`)),
      this.#repeat('balance', () => service.get(`/v1/balance?installId=${installId}`)),
    ]);
  }

  async #repeat(route: string, ask: () => Promise<{ status: number }>): Promise<void> {
    while (!this.#isStopped) {
      const at = performance.now();
      const { status } = await ask().catch(() => ({ status: 0 }));
      this.after.push({ route, status, at });
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#clients);
  }

  /** Statuses of the requests that began after a moment. */
  since(moment: number): { credits: Set<number>; balancesLater: Set<number>; count: number } {
    const begun = this.after.filter(({ at }) => at > moment);
    const statuses = (route: string, from: number) =>
      new Set(begun.filter((one) => one.route === route && one.at > from).map(({ status }) => status));
    return { credits: statuses('credit', moment), balancesLater: statuses('balance', moment + 1000), count: begun.length };
  }
}

/** Loses the data under load, and expects that the services neither serve the data that Redis then has nor write to it. */
async function expectRefused(lose: () => Promise<unknown>, installId: string): Promise<void> {
  const load = new Load(installId);
  await expect.poll(() => load.after.length).toBeGreaterThan(50);
  await lose();
  const lostAt = performance.now();
  await expect.poll(() => fatal().length).toBe(services.length);
  await expect.poll(() => load.since(lostAt).balancesLater.size).toBeGreaterThan(0);
  await load.stop();
  expect(load.since(lostAt)).toMatchObject({ credits: new Set([503]), balancesLater: new Set([503]) });
  for (const service of services) {
    const { status, body } = await service.get('/ready');
    expect([status, body.error.message]).toEqual([
      503,
      expect.stringMatching(/An operator has to bring it back, or to accept what is there/),
    ]);
    await expect.poll(async () => (await service.get('/metrics')).body).toMatch(/^coinop_data_lost 1$/m);
    expect((await service.get('/health')).status).toBe(200);
  }
}

async function expectServed(installId: string, balanceCoins: number): Promise<void> {
  for (const service of services) {
    await expect.poll(async () => (await service.get('/ready')).status).toBe(200);
    const { status, body } = await service.get(`/v1/balance?installId=${installId}`);
    expect([status, body.balanceCoins]).toEqual([200, balanceCoins]);
    expect((await credit(service, installId, freshId())).status).toBe(200);
    balanceCoins++;
    await expect.poll(async () => (await service.get('/metrics')).body).toMatch(/^coinop_data_lost 0$/m);
  }
}

test('an emptied Redis is refused by every process until it is accepted, and nothing is written into it', async () => {
  await serve();
  await serve();
  const installId = freshId();
  await expectRefused(() => redis.client.flushall(), installId);
  expect(await redis.client.keys('*')).toEqual([]);
  await accept();
  await expectServed(installId, 0);
  // The secret stays the one that the processes know, and with it the hashes of used keys.
  expect(await redis.client.mget(DATA_VERSION_KEY, KEY_SECRET)).toEqual([String(DATA_VERSION), expect.stringMatching(/^[0-9a-f]{16}$/)]);
});

test('a Redis that starts without its data is refused, and served again once it has its data', async () => {
  const service = await serve();
  const installId = freshId();
  await credit(service, installId, 'a');
  await redis.save('whole');
  await expect.poll(async () => (await service.get('/ready')).status).toBe(200);
  await expectRefused(() => redis.load(), freshId());
  expect(await redis.client.dbsize()).toBe(0);
  await redis.load('whole');
  await expectServed(installId, 1);
  expect((await credit(service, installId, 'a')).body.replayed).toBe(true);
});

test('the data of another coinop is refused, and adopted as it is once it is accepted', async () => {
  const installId = freshId();
  const other = await serve();
  await credit(other, installId, 'a');
  await stopAll();
  await redis.save('other');
  await redis.load();
  await serve();
  await expectRefused(() => redis.load('other'), installId);
  const { id } = await dataId();
  expect(fatal()[0]!.acceptData).toBe(id);
  await accept();
  await expectServed(installId, 1);
  // The service has taken the secret of that data.
  expect((await credit(services[0]!, installId, 'a')).body.replayed).toBe(true);
});

test('a Redis that was restored to an older state is refused, and after a restart of the process as well', async () => {
  const service = await serve({ dataMemory: memory() });
  const installId = freshId();
  await redis.save('older');
  await expect.poll(async () => (await service.get('/ready')).status).toBe(200);
  await serve();
  const { id, heartbeat } = await dataId();
  // As if the data had been served for another 15 s.
  await redis.client.set(DATA_ID_KEY, dataIdValue(id, heartbeat + 15_000, Date.now(), 0));
  await expect.poll(async () => (await dataId()).heartbeat).toBeGreaterThan(heartbeat + 15_000);
  // Both processes have seen the loss.
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await expectRefused(() => redis.load('older'), installId);
  await stopAll();
  logLines = [];
  const restarted = await serve({ dataMemory: memory() });
  expect((await credit(restarted, installId, 'b')).status).toBe(503);
  expect(fatal()).toHaveLength(1);
  await stopAll();
  const accepting = await serve({ dataMemory: memory(), settings: { ACCEPT_DATA: fatal()[0]!.acceptData } });
  await expectServed(installId, 0);
  expect((await dataId()).id).toBe(successorOf(id));
  // The acceptance is enough for a process that knew the data before it.
  await accepting[Symbol.asyncDispose]();
  services = [];
  writeFileSync(join(folder, 'data-id'), `${id}\n`);
  await serve({ dataMemory: memory() });
  await expectServed(installId, 1);
});

test('a process that starts knows by DATA_DIR how far the data had been served, even if Redis was emptied in between', async () => {
  const installId = freshId();
  await credit(await serve({ dataMemory: memory() }), installId, 'a');
  await redis.save('older');
  const { id, heartbeat } = await dataId();
  // As if the data had been served for another 15 s.
  const newer = heartbeat + 15_000;
  const beatenAt = Date.now();
  await redis.client.set(DATA_ID_KEY, dataIdValue(id, newer, beatenAt, 0));
  const kept = () => memory().read().newest.heartbeats[DATA_ID_KEY] ?? 0;
  await expect.poll(kept).toBeGreaterThanOrEqual(newer);
  // It goes on with each second.
  const first = kept();
  await expect.poll(kept).toBeGreaterThan(first);
  await stopAll();
  const lastKept = memory().read().newest;
  expect(lastKept.times[DATA_ID_KEY]).toBeGreaterThan(beatenAt);
  await redis.client.flushall();
  const emptied = await serve({ dataMemory: memory() });
  expect((await emptied.get('/ready')).body.error.message).toContain('has lost its data: it is empty');
  await stopAll();
  expect(memory().read()).toEqual({ id, newest: lastKept });
  await redis.load('older');
  logLines = [];
  const older = await serve({ dataMemory: memory() });
  const { status, body } = await older.get('/ready');
  const until = new Date(lastKept.times[DATA_ID_KEY]!).toISOString();
  expect([status, body.error.message]).toEqual([
    503,
    expect.stringMatching(
      /^Not ready: this Redis was restored to a state that is 1\d s older than the one that the service on \S+ saw: it ends at 2\S+Z, and /,
    ),
  ]);
  expect(body.error.message).toContain(
    `what was acknowledged from then until ${until} is missing. An operator has to bring it back, or to accept what is there: npm run admin -- data accept`,
  );
  expect((await credit(older, installId, 'b')).status).toBe(503);
  await expect.poll(async () => (await older.get('/metrics')).body).toMatch(/^coinop_data_lost 1$/m);
  expect(fatal()).toHaveLength(1);
  await accept();
  await expectServed(installId, 1);
});

test('heartbeats of other data, and a damaged file of them, do not count', async () => {
  const installId = freshId();
  await credit(await serve({ dataMemory: memory() }), installId, 'a');
  await stopAll();
  const { id } = await dataId();
  const far = Number.MAX_SAFE_INTEGER;
  const ofOther = JSON.stringify({ id: 'A'.repeat(22), heartbeats: { [DATA_ID_KEY]: far } });
  for (const text of [ofOther, '', '{', 'null', '[1]', JSON.stringify({ id, heartbeats: { [DATA_ID_KEY]: 'x' } })]) {
    writeFileSync(join(folder, 'data-heartbeats'), text);
    const service = await serve({ dataMemory: memory() });
    expect([text, (await service.get('/ready')).status]).toEqual([text, 200]);
    await stopAll();
  }
  // A time that no date has.
  const edited = { id, heartbeats: { [DATA_ID_KEY]: far }, times: { [DATA_ID_KEY]: far } };
  writeFileSync(join(folder, 'data-heartbeats'), JSON.stringify(edited));
  expect((await (await serve({ dataMemory: memory() })).get('/ready')).body.error.message).toMatch(
    / s older than the one that the service on \S+ saw\. /,
  );
});

test('data is served after a failover to a replica that lagged by seconds, and the lost writes are reported', async () => {
  const startedAt = Date.now();
  await serve();
  await redis.save('lagging');
  await expect.poll(async () => (await services[0]!.get('/ready')).status).toBe(200);
  const { id, heartbeat } = await dataId();
  const aheadAt = Date.now();
  await redis.client.set(DATA_ID_KEY, dataIdValue(id, heartbeat + 6000, aheadAt, 0));
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await redis.load('lagging');
  await expectServed(freshId(), 0);
  const lines = logLines.filter((line) => line.includes('redis came back in an older state'));
  expect(lines).toHaveLength(1);
  const [, from, until] = /older state: what was written between (\S+Z) and (\S+Z) may be lost/.exec(lines[0]!)!.map(Date.parse);
  expect([startedAt <= from!, from! <= aheadAt, aheadAt <= until!]).toEqual([true, true, true]);
  expect(fatal()).toEqual([]);
});

test('with REDIS_WAIT_REPLICAS a replica that was cut off for long is served: it lacks only unacknowledged writes', async () => {
  await serve({ settings: { REDIS_WAIT_REPLICAS: '1' } });
  await redis.save('cut off');
  await expect.poll(async () => (await services[0]!.get('/ready')).status).toBe(200);
  const { id, heartbeat } = await dataId();
  await redis.client.set(DATA_ID_KEY, dataIdValue(id, heartbeat + 60_000, Date.now(), 0));
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await redis.load('cut off');
  await expect.poll(() => logLines.filter((line) => line.includes('redis came back in an older state')).length).toBe(1);
  expect((await services[0]!.get(`/v1/balance?installId=${freshId()}`)).status).toBe(200);
  expect(fatal()).toEqual([]);
});

test('with REDIS_WAIT_REPLICAS nothing is written into an emptied Redis either', async () => {
  const service = await serve({ settings: { REDIS_WAIT_REPLICAS: '1' } });
  await redis.client.flushall();
  expect((await credit(service, freshId(), 'a')).status).toBe(503);
  expect(await redis.client.keys('*')).toEqual([]);
});

test('data that was accepted is served although the clock of Redis was set back meanwhile', async () => {
  await serve();
  await redis.client.set(DATA_ID_KEY, dataIdValue('AAAAAAAAAAAAAAAAAAAAAA', 0, Date.now(), 0));
  await expect.poll(() => fatal().length).toBe(1);
  // An hour before the loss.
  const at = Date.now() - 3_600_000;
  await redis.client.set(DATA_ID_KEY, dataIdValue(successorOf('AAAAAAAAAAAAAAAAAAAAAA'), 0, at, at));
  await expectServed(freshId(), 0);
});

test('ACCEPT_DATA that stays set does not accept data in whose place other data was accepted', async () => {
  const service = await serve({ settings: { ACCEPT_DATA: 'AAAAAAAAAAAAAAAAAAAAAA' } });
  const status = async () => (await credit(service, freshId(), 'a')).status;
  await redis.client.set(DATA_ID_KEY, dataIdValue('AAAAAAAAAAAAAAAAAAAAAA', 0, Date.now(), 0));
  await expect.poll(status).toBe(200);
  await accept();
  await expect.poll(status).toBe(200);
  await redis.client.set(DATA_ID_KEY, dataIdValue('AAAAAAAAAAAAAAAAAAAAAA', 60_000, Date.now(), 0));
  await expect.poll(() => fatal().length).toBe(1);
  expect(await status()).toBe(503);
});

test.each([
  ['a text', () => redis.client.set(DATA_ID_KEY, 'no id')],
  ['a list', () => redis.client.multi().del(DATA_ID_KEY).lpush(DATA_ID_KEY, 'no id').exec()],
])('%s in place of the id is refused, and can be accepted', async (_, write) => {
  const service = await serve();
  const installId = freshId();
  expect((await credit(service, installId, 'a')).status).toBe(200);
  await write();
  // At once, and not only after the next check of the data.
  expect((await credit(service, installId, 'a')).status).toBe(503);
  await expect.poll(() => fatal().length).toBe(1);
  expect(fatal()[0]!.acceptData).toMatch(/^[\w-]{22}$/);
  const scripts = new ScriptRunner(redis.client, { now: Date.now });
  expect(await scripts.run(acceptData, { id: DATA_ID_KEY }, { seen: '', to: fatal()[0]!.acceptData })).toEqual(['accepted']);
  await expectServed(installId, 1);
});

test('another valid secret of the ledgers is refused, and the old one is served again', async () => {
  await serve();
  await serve();
  const secret = (await redis.client.get(KEY_SECRET))!;
  const installId = freshId();
  await expectRefused(() => redis.client.set(KEY_SECRET, '0011223344556677'), installId);
  await redis.client.set(KEY_SECRET, secret);
  await expect.poll(async () => (await credit(services[0]!, installId, 'last')).status).toBe(200);
  expect((await services[0]!.get('/ready')).status).toBe(200);
});

test('watchers are sent away from lost data, and are not let in before it is accepted', async () => {
  const service = await serve();
  const { body } = await service.post('/v1/rooms', { installId: freshId(), game: 'chess', capacity: 2, state: {} });
  const open = () => new WebSocket(`${service.url.replace('http', 'ws')}/v1/rooms/${body.room.code}/live`);
  const socket = open();
  await new Promise((resolve) => socket.addEventListener('message', resolve, { once: true }));
  const closed = new Promise<number>((resolve) => socket.addEventListener('close', ({ code }) => resolve(code)));
  await redis.client.flushall();
  expect(await closed).toBe(4009);
  const again = open();
  expect(await new Promise((resolve) => again.addEventListener('error', () => resolve('refused')))).toBe('refused');
});

test('processes that start together on an empty Redis agree on one id, and keep it in DATA_DIR', async () => {
  const folders = ['a', 'b', 'c', 'd'].map((name) => join(folder, name));
  await Promise.all(folders.map((each) => serve({ dataMemory: new DataIdFile(each, pino({ level: 'silent' })) })));
  const { id } = await dataId();
  expect(folders.map((each) => readFileSync(join(each, 'data-id'), 'utf8'))).toEqual(folders.map(() => `${id}\n`));
  expect(fatal()).toEqual([]);
});

test('data of a release without ids gets one, once, and keeps its coins', async () => {
  const installId = freshId();
  await credit(await serve(), installId, 'a');
  await stopAll();
  await redis.client.del(DATA_ID_KEY);
  await Promise.all([serve({ dataMemory: memory() }), serve()]);
  const { id } = await dataId();
  await expectServed(installId, 1);
  expect([readFileSync(join(folder, 'data-id'), 'utf8'), (await dataId()).id, fatal()]).toEqual([`${id}\n`, id, []]);
});

test('a process that starts on an emptied Redis knows by DATA_DIR that it had data, and ACCEPT_DATA accepts this loss alone', async () => {
  await serve({ dataMemory: memory() });
  await stopAll();
  await redis.client.flushall();
  const refusing = await serve({ dataMemory: memory() });
  expect((await refusing.get('/ready')).status).toBe(503);
  expect((await credit(refusing, freshId(), 'a')).status).toBe(503);
  expect(await redis.client.dbsize()).toBe(0);
  const { acceptData: ACCEPT_DATA, msg } = fatal()[0]!;
  // The same is found where REDIS_URL now names another Redis.
  expect(msg).toContain('If this is another Redis than before, give the service another DATA_DIR.');
  await stopAll();
  // The id of another loss.
  const wrong = await serve({ dataMemory: memory(), settings: { ACCEPT_DATA: successorOf(ACCEPT_DATA) } });
  expect((await wrong.get('/ready')).status).toBe(503);
  await stopAll();
  await serve({ dataMemory: memory(), settings: { ACCEPT_DATA } });
  // Another process that knew the lost data.
  await serve({ settings: { ACCEPT_DATA } });
  await expectServed(freshId(), 0);
  expect((await dataId()).id).toBe(ACCEPT_DATA);
  await redis.client.flushall();
  await expect.poll(async () => (await services[0]!.get('/ready')).status).toBe(503);
  await stopAll();
  const left = await serve({ dataMemory: memory(), settings: { ACCEPT_DATA } });
  expect((await left.get('/ready')).status).toBe(503);
});

test('a service that starts while Redis refuses writes answers reads, and refuses an emptied Redis', async () => {
  const installId = freshId();
  await credit(await serve({ dataMemory: memory() }), installId, 'a');
  await stopAll();
  await redis.client.config('SET', 'maxmemory', '1mb');
  const full = await serve();
  expect((await full.get(`/v1/balance?installId=${installId}`)).body).toEqual({ ok: true, balanceCoins: 1 });
  expect((await credit(full, installId, 'b')).status).toBe(503);
  expect((await full.get('/ready')).body.error.message).toContain('refuses writes');
  await stopAll();
  await redis.client.flushall();
  const emptied = await serve({ dataMemory: memory() });
  expect((await emptied.get(`/v1/balance?installId=${installId}`)).status).toBe(503);
  expect((await emptied.get('/ready')).body.error.message).toContain('has lost its data');
  // A first start waits until it may write.
  const first = await serve();
  await redis.client.config('SET', 'maxmemory', '0');
  await expect.poll(async () => (await credit(first, installId, 'c')).status).toBe(200);
});

test('a service that starts on a replica says so, answers reads, and writes once the replica is promoted', async () => {
  const installId = freshId();
  await credit(await serve(), installId, 'a');
  await stopAll();
  await redis.client.replicaof('127.0.0.1', '1');
  const service = await serve();
  await expect.poll(async () => (await service.get('/ready')).body.error.message).toContain('this redis is a replica');
  await expect.poll(async () => (await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(1);
  const connections = async () => Number(/total_connections_received:(\d+)/.exec(await redis.client.info('stats'))![1]);
  const before = await connections();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  // A look that writes closes its connection, so every such look would open another.
  expect((await connections()) - before).toBeLessThan(10);
  await redis.client.replicaof('NO', 'ONE');
  await expect.poll(async () => (await credit(service, installId, 'b')).status).toBe(200);
});

test('a service starts where DATA_DIR cannot be written, and warns', async () => {
  mkdirSync(join(folder, 'data-id'));
  writeFileSync(join(folder, 'data-id', 'in-the-way'), '');
  const warnings: string[] = [];
  await serve({ dataMemory: new DataIdFile(folder, pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })) });
  await expectServed(freshId(), 0);
  expect(warnings.filter((line) => line.includes('DATA_DIR cannot be written'))).toHaveLength(1);
});

test('an id succeeds only the ids in whose place it was accepted', () => {
  const first = 'AAAAAAAAAAAAAAAAAAAAAA';
  const third = successorOf(successorOf(first));
  expect([succeeds(third, first), succeeds(first, third), succeeds(first, first), succeeds('B'.repeat(22), first)]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});
