import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { KEY_SECRET, keySecretKind } from '../../src/features/coins/secret-keys.ts';
import { SecretOfCluster } from '../../src/features/coins/secret-of-cluster.ts';
import { DataIdFile } from '../../src/process/data-id-file.ts';
import type { Cluster } from '../../src/redis/cluster-client.ts';
import { openConnections } from '../../src/redis/redis-connections.ts';
import { DataGuard } from '../../src/redis/data-guard.ts';
import { DATA_ID_KEY, dataIdValue, successorOf } from '../../src/redis/data-id.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../../src/redis/data-version.ts';
import { tagOf } from '../../src/redis/slots.ts';
import { runAdmin } from '../operator/console/command.ts';
import { isWhole, startCluster, type TestCluster, type TestNode } from '../cluster-nodes.ts';
import { start, type TestService } from '../harness.ts';
import { runCommand } from '../run-command.ts';
import { MovableRedis } from './movable-redis.ts';

let cluster: TestCluster | undefined;
let logLines: string[] = [];
afterEach(async () => {
  await cluster?.[Symbol.asyncDispose]();
  cluster = undefined;
  logLines = [];
});

const credit = (to: TestService, installId: string, key: string) => to.post('/v1/coins/credit', { installId, coins: 1, key });

const fatal = () =>
  logLines.map((line) => JSON.parse(line) as { level: number; acceptData: string; msg: string }).filter(({ level }) => level === 60);

/** An install whose account one primary has. */
function installOn({ slots }: TestNode): string {
  for (let number = 0; ; number++) {
    const installId = `install-lost-${number}`;
    const slot = cluster!.slotOf(coinKeys.ledger(accountIdOf(installId)));
    if (slots.some(([first, last]) => first <= slot && slot <= last)) return installId;
  }
}

const lowestKey = ({ slots }: TestNode) => `${tagOf(Math.min(...slots.map(([first]) => first)))}${DATA_ID_KEY}`;

test.each(['the primary of the data id', 'another primary'])(
  'an emptied primary is refused at once, %s, and served once it is accepted',
  async (which) => {
    cluster = await startCluster();
    await using service = await start({ redis: { url: cluster.url }, logLines });
    await isWhole(service);
    const home = await cluster.primaryOf(cluster.slotOf(DATA_ID_KEY));
    const emptied = which === 'another primary' ? cluster.nodes.find((node) => node !== home)! : home;
    const other = cluster.nodes.find((node) => node !== emptied)!;
    const [ofEmptied, ofOther] = [installOn(emptied), installOn(other)];
    for (const installId of [ofEmptied, ofOther]) expect((await credit(service, installId, 'k')).status).toBe(200);
    await emptied.call('FLUSHALL');
    for (let number = 0; number < 100; number++) expect((await credit(service, ofEmptied, `k${number}`)).status).toBe(503);
    await expect.poll(() => fatal().length).toBe(1);
    expect((await service.get('/ready')).status).toBe(503);
    expect((await service.get(`/v1/balance?installId=${ofEmptied}`)).status).toBe(503);
    // The other primaries are unchanged.
    expect((await credit(service, ofOther, 'k')).body).toMatchObject({ replayed: true });
    // Long enough for a read of all marks, which writes none.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await emptied.call('DBSIZE')).toBe(0);
    // A process that starts now also sees the loss, although it never knew the data.
    const startedLines: string[] = [];
    {
      await using started = await start({ redis: { url: cluster.url }, logLines: startedLines });
      await expect.poll(() => startedLines.filter((line) => line.includes('"level":60'))).toHaveLength(1);
      expect((await credit(started, ofEmptied, 'x')).status).toBe(503);
      expect(await emptied.call('DBSIZE')).toBe(0);
    }
    const { code, out, error } = await runAdmin(['data', 'accept', '--yes', '--json'], { REDIS_URL: cluster.url });
    expect([code, error]).toEqual([0, '']);
    expect((JSON.parse(out) as { id: string }).id).toBe(fatal()[0]!.acceptData);
    await expect.poll(async () => (await service.get('/ready')).status).toBe(200);
    expect((await credit(service, ofEmptied, 'k')).body).toEqual({ ok: true, balanceAfterCoins: 1 });
    expect((await credit(service, ofOther, 'k')).body).toMatchObject({ replayed: true });
    await using later = await start({ redis: { url: cluster.url }, logLines });
    await isWhole(later);
    expect(fatal().map(({ msg }) => msg)).toHaveLength(1);
  },
  60_000,
);

test('a primary that comes back in an older state is refused', async () => {
  cluster = await startCluster({ settings: ['--appendonly', 'no', '--save', ''] });
  await using service = await start({ redis: { url: cluster.url }, logLines });
  await isWhole(service);
  const [node] = cluster.nodes as [TestNode];
  const installId = installOn(node);
  await credit(service, installId, 'a');
  await expect.poll(async () => Number(String(await node.call('GET', lowestKey(node))).split(' ')[1])).toBeGreaterThan(0);
  await node.call('SAVE');
  const [id, heartbeat] = String(await node.call('GET', lowestKey(node))).split(' ');
  await node.call('SET', lowestKey(node), dataIdValue(id!, Number(heartbeat) + 15_000, Date.now(), 0));
  await credit(service, installId, 'b');
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await cluster.kill(node);
  await cluster.start(node);
  await cluster.untilAgreed();
  await expect.poll(() => fatal().length).toBe(1);
  for (let number = 0; number < 20; number++) expect((await credit(service, installId, `c${number}`)).status).toBe(503);
  expect((await service.get('/ready')).status).toBe(503);
  // All marks get another id, by which a process that starts later knows that the loss was accepted.
  await runAdmin(['data', 'accept', '--yes'], { REDIS_URL: cluster.url });
  await expect.poll(async () => (await credit(service, installId, 'd')).status).toBe(200);
  // `b` was lost.
  expect((await credit(service, installId, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 3 });
  expect(String(await node.call('GET', lowestKey(node))).slice(0, 22)).toBe(successorOf(id!));
}, 60_000);

test('a primary that one service refuses as older is served by no other service, nor are its slots on another primary', async () => {
  cluster = await startCluster({ settings: ['--appendonly', 'no', '--save', ''] });
  const dataMemory = new DataIdFile(mkdtempSync(join(tmpdir(), 'coinop-refused-')), pino({ level: 'silent' }));
  const [node, other] = cluster.nodes as [TestNode, TestNode];
  const [installId, ofOther] = [installOn(node), installOn(other)];
  const key = lowestKey(node);
  {
    await using before = await start({ redis: { url: cluster.url }, dataMemory });
    await isWhole(before);
    for (const each of [installId, ofOther]) expect((await credit(before, each, 'a')).status).toBe(200);
    await expect.poll(() => marksOf(cluster!.nodes)).toBe(3 * 16_384);
    await node.call('SAVE');
    const [id, heartbeat] = String(await node.call('GET', key)).split(' ');
    const newer = Number(heartbeat) + 15_000;
    await node.call('SET', key, dataIdValue(id!, newer, Date.now(), 0));
    await expect.poll(() => dataMemory.read().newest.heartbeats[key] ?? 0).toBeGreaterThanOrEqual(newer);
  }
  await cluster.kill(node);
  await cluster.start(node);
  await cluster.untilAgreed();
  // It serves the older data before another service refuses it.
  await using fresh = await start({ redis: { url: cluster.url }, logLines });
  await isWhole(fresh);
  expect((await credit(fresh, installId, 'b')).status).toBe(200);
  await using old = await start({ redis: { url: cluster.url }, dataMemory });
  await expect.poll(async () => (await old.get('/ready')).status).toBe(503);
  const marked = async () => ((await node.call('KEYS', `{*}${DATA_ID_KEY}`)) as string[]).length;
  const slots = await marked();
  await expect.poll(async () => String(await node.call('GET', key))).toMatch(/^refused: /);
  // The lowest slot is the last one.
  const values = (await Promise.all(
    ((await node.call('KEYS', `{*}${DATA_ID_KEY}`)) as string[]).map((each) => node.call('GET', each)),
  )) as string[];
  expect(values.filter((value) => value.startsWith('refused: '))).toHaveLength(slots);
  expect((await credit(fresh, installId, 'c')).status).toBe(503);
  await expect.poll(() => fatal().length).toBe(1);
  expect(fatal()[0]!.msg).toContain(`127.0.0.1:${node.port} was restored to a state that is `);
  const { body } = await fresh.get('/ready');
  expect(body.error.message).toMatch(
    / than the one that the service on \S+ saw.* \(refused since 2\S+Z\)\. An operator has to bring it back/,
  );
  for (const service of [fresh, old]) expect((await credit(service, ofOther, 'a')).body).toMatchObject({ replayed: true });
  const shown = await runAdmin(['data', 'show'], { REDIS_URL: cluster.url });
  expect(shown.out).toMatch(
    new RegExp(`The services refuse the data: 127\\.0\\.0\\.1:${node.port} was restored to a state that is .* \\(refused since 2`),
  );
  const banned = await runAdmin(['accounts', 'ban', ofOther, '--reason', 'test', '--yes'], { REDIS_URL: cluster.url });
  expect([banned.code, banned.error]).toEqual([1, expect.stringContaining('The services refuse the data: ')]);
  const doctor = await runCommand('doctor.ts', ['--json'], { REDIS_URL: cluster.url, NODE_ENV: 'test' });
  expect(doctor.out).toContain('The services refuse the data: ');
  // A slot of the refused data, on a primary whose other data is right.
  const slot = cluster.slotOf(coinKeys.ledger(accountIdOf(installId)));
  await cluster.moveSlot(slot, other);
  for (const service of [fresh, old]) expect((await credit(service, installId, 'd')).status).toBe(503);
  await using later = await start({ redis: { url: cluster.url } });
  for (let number = 0; number < 20; number++) expect((await credit(later, installId, `e${number}`)).status).toBe(503);
  const accepted = await runAdmin(['data', 'accept', '--yes'], { REDIS_URL: cluster.url });
  expect([accepted.code, accepted.error]).toEqual([0, '']);
  for (const service of [fresh, old, later]) {
    await expect.poll(async () => (await service.get('/ready')).status).toBe(200);
    for (const each of [installId, ofOther]) expect((await credit(service, each, 'a')).body).toMatchObject({ replayed: true });
  }
  expect(((await node.call('KEYS', `{*}${DATA_ID_KEY}`)) as string[]).length).toBe(slots - 1);
}, 120_000);

test('a slot that is taken over without its keys has lost its data, and one that moves with them has not', async () => {
  cluster = await startCluster();
  await using service = await start({ redis: { url: cluster.url }, logLines });
  await isWhole(service);
  const [from, to] = cluster.nodes as [TestNode, TestNode];
  // The lowest slot has the heartbeat of its primary.
  const lowest = from.slots[0]![0];
  for (const slot of [lowest, lowest + 1, lowest + 7]) await cluster.moveSlot(slot, to);
  const installId = installOn(from);
  for (let number = 0; number < 20; number++) {
    expect((await credit(service, installId, `k${number}`)).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(fatal()).toEqual([]);
  // The marks of all slots were read a moment ago, and are not read again for a while.
  const slot = cluster.slotOf(coinKeys.ledger(accountIdOf(installId)));
  for (const key of (await from.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[]) await from.call('DEL', key);
  await cluster.moveSlot(slot, to);
  for (let number = 0; number < 20; number++) {
    expect((await credit(service, installId, `lost${number}`)).status).toBe(503);
    expect((await service.get(`/v1/balance?installId=${installId}`)).status).toBe(503);
  }
  await expect.poll(() => fatal().length).toBe(1);
  expect(fatal()[0]!.msg).toContain(`slot ${slot} of `);
}, 60_000);

test('a primary whose connections broke is served again at once while another primary hangs', async () => {
  cluster = await startCluster({ settings: ['--cluster-node-timeout', '15000'] });
  await using service = await start({ redis: { url: cluster.url } });
  await isWhole(service);
  const [hanging, other] = cluster.nodes as [TestNode, TestNode];
  const installId = installOn(other);
  expect((await credit(service, installId, 'k')).status).toBe(200);
  await cluster.pause(hanging);
  // A look waits for the hanging look, until three seconds after the beginning of that look.
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await other.call('CLIENT', 'KILL', 'TYPE', 'normal');
  const brokenAt = performance.now();
  await expect.poll(async () => (await credit(service, installId, 'l')).status).toBe(200);
  expect(performance.now() - brokenAt).toBeLessThan(1000);
  await cluster.resume(hanging);
}, 60_000);

test('a slot that begins to move while a first start writes its marks does not count as marked', async () => {
  cluster = await startCluster();
  const log = pino({ level: 'silent' });
  const connections = openConnections({ url: cluster.url }, 0, log);
  const source = connections.source as Cluster;
  const guard = new DataGuard(connections, { log, secret: keySecretKind });
  try {
    await connections.opened();
    await expect.poll(async () => (await guard.lookAgain()) && guard.id !== undefined).toBe(true);
    const [from, to] = cluster.nodes as [TestNode, TestNode];
    const slot = from.slots[0]![0] + 7;
    const { redis } = source.shardOf(slot)!;
    const pipeline = redis.pipeline.bind(redis);
    let pipelines = 0;
    redis.pipeline = () => {
      const made = pipeline();
      const exec = made.exec.bind(made);
      // The first reads the marks, the second writes them.
      if (++pipelines === 2) made.exec = async () => (await beginMove(slot, from, to)) ?? exec();
      return made;
    };
    const secret = new SecretOfCluster(source, guard);
    await secret.read(undefined);
    const home = source.shardOf(cluster.slotOf(DATA_VERSION_KEY))!.redis;
    expect([pipelines, await home.get(DATA_VERSION_KEY)]).toEqual([expect.toSatisfy((count: number) => count >= 2), null]);
    for (const node of [from, to]) await node.call('CLUSTER', 'SETSLOT', slot, 'STABLE');
    await secret.read(undefined);
    expect(await home.get(DATA_VERSION_KEY)).toBe(String(DATA_VERSION));
  } finally {
    guard.close();
    connections.disconnect();
  }
}, 60_000);

async function beginMove(slot: number, from: TestNode, to: TestNode): Promise<void> {
  await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
  await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
}

test('a failover, with and without lag, is no loss', async () => {
  cluster = await startCluster({ replicas: 1, settings: ['--cluster-node-timeout', '1000'] });
  await using service = await start({ redis: { url: cluster.url }, logLines });
  await isWhole(service);
  const node = cluster.nodes.find(({ role }) => role === 'primary')!;
  const installId = installOn(node);
  expect((await credit(service, installId, 'k')).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await cluster.kill(node);
  await cluster.untilFailedOver(node);
  await expect.poll(async () => (await credit(service, installId, 'k')).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 2500));
  expect((await credit(service, installId, 'l')).status).toBe(200);
  expect(fatal()).toEqual([]);
}, 60_000);

test('data of a release without ids gets one in every slot', async () => {
  cluster = await startCluster();
  const installs = cluster.nodes.map(installOn);
  {
    await using before = await start({ redis: { url: cluster.url } });
    await isWhole(before);
    for (const installId of installs) await credit(before, installId, 'k');
  }
  for (const node of cluster.nodes) for (const key of (await node.call('KEYS', `*${DATA_ID_KEY}`)) as string[]) await node.call('DEL', key);
  await using one = await start({ redis: { url: cluster.url }, logLines });
  await using two = await start({ redis: { url: cluster.url }, logLines });
  for (const service of [one, two])
    for (const installId of installs) await expect.poll(async () => (await credit(service, installId, 'k')).body.replayed).toBe(true);
  const counts = await Promise.all(cluster.nodes.map(async (node) => ((await node.call('KEYS', `{*}${DATA_ID_KEY}`)) as string[]).length));
  expect(counts.reduce((sum, count) => sum + count)).toBe(16_384);
  expect(fatal()).toEqual([]);
}, 60_000);

test('data that was imported from one Redis is served, and refused once the Cluster is emptied', async () => {
  cluster = await startCluster();
  await using single = await MovableRedis.start();
  const dataMemory = new DataIdFile(mkdtempSync(join(tmpdir(), 'coinop-imported-')), pino({ level: 'silent' }));
  const installs = cluster.nodes.map((node) => installOn(node));
  {
    await using before = await start({ redis: single.location, dataMemory });
    for (const installId of installs) await credit(before, installId, 'k');
  }
  await importInto(cluster, single.client);
  {
    // Two processes meet the data at once.
    await using one = await start({ redis: { url: cluster.url }, dataMemory, logLines });
    await using other = await start({ redis: { url: cluster.url }, logLines });
    for (const service of [one, other]) await isWhole(service);
    for (const service of [one, other])
      for (const installId of installs) expect((await credit(service, installId, 'k')).body).toMatchObject({ ok: true, replayed: true });
    expect(fatal()).toEqual([]);
    // From now on a slot without marks has lost its data.
    await expect.poll(() => marksOf(cluster!.nodes)).toBe(3 * 16_384);
  }
  for (const node of cluster.nodes) await node.call('FLUSHALL');
  await using restarted = await start({ redis: { url: cluster.url }, dataMemory, logLines });
  await expect.poll(() => fatal().length).toBe(3);
  for (const installId of installs) expect((await credit(restarted, installId, 'k')).status).toBe(503);
  expect((await restarted.get('/ready')).status).toBe(503);
  expect(await marksOf(cluster.nodes)).toBe(0);
}, 60_000);

test('an emptied Cluster gets no marks while the primary of the data id is away', async () => {
  cluster = await startCluster();
  const dataMemory = new DataIdFile(mkdtempSync(join(tmpdir(), 'coinop-emptied-')), pino({ level: 'silent' }));
  {
    await using before = await start({ redis: { url: cluster.url }, dataMemory });
    await isWhole(before);
    await expect.poll(() => dataMemory.read().id).toBeDefined();
  }
  const [other, home] = cluster.nodes as [TestNode, TestNode, TestNode];
  for (const node of cluster.nodes) {
    await node.call('FLUSHALL');
    // So the other primaries serve without it.
    await node.call('CONFIG', 'SET', 'cluster-node-timeout', '15000');
  }
  // As in a Cluster of four primaries: the primary of the data id has none of the other keys that a first start reads.
  await cluster.moveSlot(cluster.slotOf(DATA_ID_KEY), home);
  await cluster.kill(home);
  await using restarted = await start({ redis: { url: cluster.url }, dataMemory });
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect((await credit(restarted, installOn(other), 'k')).status).toBe(503);
  expect(await marksOf(cluster.nodes.filter((node) => node !== home))).toBe(0);
}, 60_000);

/** Does the same as `redis-cli --cluster import --cluster-copy`. */
async function importInto({ primaryOf, slotOf }: TestCluster, source: Redis): Promise<void> {
  for (const key of await source.keys('*')) {
    const node = await primaryOf.call(cluster, slotOf.call(cluster, key));
    await source.call('MIGRATE', '127.0.0.1', node.port, key, 0, 5000, 'COPY');
  }
}

async function marksOf(nodes: readonly TestNode[]): Promise<number> {
  const counts = await Promise.all(
    nodes.map(
      async (node) =>
        ((await node.call('KEYS', '{*}*[dl][ae][td][ag]*')) as string[]).filter((key) =>
          /\}(data:id|data:version|ledger:secret)$/.test(key),
        ).length,
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

test('a slot that was elsewhere while its data was accepted begins a heartbeat of its own when it comes back', async () => {
  cluster = await startCluster();
  await using service = await start({ redis: { url: cluster.url }, logLines });
  await isWhole(service);
  const [to, , from] = cluster.nodes as [TestNode, TestNode, TestNode];
  const lowest = from.slots[0]![0];
  const key = `${tagOf(lowest)}${DATA_ID_KEY}`;
  const id = String(await from.call('GET', key)).slice(0, 22);
  await from.call('SET', key, dataIdValue(id, 60_000, Date.now(), 0));
  await expect.poll(async () => Number(String(await from.call('GET', key)).split(' ')[1])).toBeGreaterThan(60_000);
  await cluster.moveSlot(lowest, to);
  const installId = installOn(from);
  await expect.poll(async () => (await credit(service, installId, 'a')).status).toBe(200);
  await runAdmin(['data', 'accept', '--yes'], { REDIS_URL: cluster.url });
  await expect.poll(async () => (await credit(service, installId, 'b')).status).toBe(200);
  await cluster.moveSlot(lowest, from);
  // The heartbeat of this slot is that of its primary again.
  await expect.poll(async () => Number(String(await from.call('GET', key)).split(' ')[1])).toBeGreaterThan(0);
  expect((await credit(service, installId, 'c')).status).toBe(200);
  expect(fatal()).toEqual([]);
}, 60_000);

test('the commands say in plain words that the id of a Cluster has another type, and an acceptance overwrites its id, marks and secrets', async () => {
  cluster = await startCluster();
  const installs = cluster.nodes.map(installOn);
  await using service = await start({ redis: { url: cluster.url }, logLines });
  await isWhole(service);
  for (const installId of installs) expect((await credit(service, installId, 'k')).status).toBe(200);
  const home = await cluster.primaryOf(cluster.slotOf(DATA_ID_KEY));
  const other = cluster.nodes.find((node) => node !== home)!;
  const replace = async (node: TestNode, key: string) => {
    await node.call('DEL', key);
    await node.call('LPUSH', key, 'x');
  };
  await replace(home, DATA_ID_KEY);
  await replace(other, lowestKey(other));
  await replace(other, lowestKey(other).replace(DATA_ID_KEY, KEY_SECRET));
  const homeOfSecret = await cluster.primaryOf(cluster.slotOf(KEY_SECRET));
  await replace(homeOfSecret, KEY_SECRET);
  const found = 'data:id in Redis is a list, and not a text: another program has overwritten it.';
  const shown = await runAdmin(['data', 'show'], { REDIS_URL: cluster.url });
  expect([shown.code, shown.error, shown.out]).toEqual([0, '', expect.stringContaining(found)]);
  const { out } = await runCommand('doctor.ts', ['--json'], { REDIS_URL: cluster.url, NODE_ENV: 'test' });
  expect(out).toContain(found);
  const { code, error } = await runAdmin(['data', 'accept', '--yes'], { REDIS_URL: cluster.url });
  expect([code, error]).toEqual([0, '']);
  expect([await home.call('TYPE', DATA_ID_KEY), await homeOfSecret.call('TYPE', KEY_SECRET)]).toEqual(['string', 'string']);
  for (const installId of installs) await expect.poll(async () => (await credit(service, installId, 'k')).body.replayed).toBe(true);
  await expect.poll(async () => (await service.get('/ready')).status).toBe(200);
}, 60_000);

test('the primary of a version of another type is not served, and the doctor says why', async () => {
  cluster = await startCluster();
  {
    await using before = await start({ redis: { url: cluster.url } });
    await isWhole(before);
  }
  const home = await cluster.primaryOf(cluster.slotOf(DATA_VERSION_KEY));
  await home.call('DEL', DATA_VERSION_KEY);
  await home.call('LPUSH', DATA_VERSION_KEY, 'x');
  const found = 'data:version in Redis is a list, and not a text: another program has overwritten it.';
  await expect(start({ redis: { url: cluster.url } })).rejects.toThrow(found);
  const doctor = await runCommand('doctor.ts', ['--json'], { REDIS_URL: cluster.url, NODE_ENV: 'test' });
  expect(doctor.out).toContain(found);
  const shown = await runAdmin(['data', 'show'], { REDIS_URL: cluster.url });
  expect([shown.code, shown.error]).toEqual([2, expect.stringContaining(found)]);
}, 60_000);
