import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { DataIdFile } from '../../src/process/data-id-file.ts';
import { DATA_ID_KEY, dataIdValue } from '../../src/redis/data/data-id.ts';
import { slotOf, tagOf } from '../../src/redis/slots.ts';
import { runAdmin } from '../operator/terminal/command.ts';
import { isWhole, startCluster, type TestCluster, type TestNode } from '../cluster-nodes.ts';
import { sleep, start, type StartOptions, type TestService } from '../harness.ts';
import { MovableRedis } from './movable-redis.ts';
import { credit, fatalIn, readiness, reasonOf, untilReady } from './movable-services.ts';

vi.setConfig({ testTimeout: 120_000 });

let cluster: TestCluster;
let logLines: string[];
beforeEach(() => void (logLines = []));
afterEach(() => cluster[Symbol.asyncDispose]());

const fatal = () => fatalIn(logLines);

/** A service of the cluster. */
const serve = (options: StartOptions = {}) => start({ redis: { url: cluster.url }, logLines, ...options });

async function serveWhole(options?: StartOptions): Promise<TestService> {
  const service = await serve(options);
  await isWhole(service);
  return service;
}

const newMemory = () => new DataIdFile(mkdtempSync(join(tmpdir(), 'coinop-lost-cluster-')), pino({ level: 'silent' }));
const admin = (...words: string[]) => runAdmin(words, { REDIS_URL: cluster.url });

async function accept(): Promise<string> {
  const { code, out, error } = await admin('data', 'accept', '--yes', '--json');
  expect([code, error]).toEqual([0, '']);
  return (JSON.parse(out) as { id: string }).id;
}

const hasSlot = ({ slots }: TestNode, slot: number): boolean => slots.some(([first, last]) => first <= slot && slot <= last);
const slotOfInstall = (installId: string): number => slotOf(coinKeys.ledger(accountIdOf(installId)));

/** An install whose account one primary has. */
function installOn(node: TestNode): string {
  for (let number = 0; ; number++) {
    const installId = `install-lost-${number}`;
    if (hasSlot(node, slotOfInstall(installId))) return installId;
  }
}

const homeOf = (key: string): Promise<TestNode> => cluster.primaryOf(slotOf(key));
const lowestKey = ({ slots }: TestNode) => `${tagOf(Math.min(...slots.map(([first]) => first)))}${DATA_ID_KEY}`;

/** The id and the heartbeat of a slot's data id. */
async function markOf(node: TestNode, key: string): Promise<{ id: string; heartbeat: number }> {
  const [id, heartbeat] = String(await node.call('GET', key)).split(' ');
  return { id: id!, heartbeat: Number(heartbeat) };
}

const idCopiesOf = async (node: TestNode) => (await node.call('KEYS', `{*}${DATA_ID_KEY}`)) as string[];

/** The number of copies: an id, a version and a secret in each slot. */
async function marksOn(nodes: readonly TestNode[]): Promise<number> {
  const keys = await Promise.all(nodes.map(async (node) => (await node.call('KEYS', '{*}*[dl][ae][td][ag]*')) as string[]));
  return keys.flat().filter((key) => /\}(data:id|data:version|ledger:secret)$/.test(key)).length;
}

async function expectRefused(service: TestService, installId: string): Promise<void> {
  for (let number = 0; number < 20; number++) expect((await credit(service, installId, `refused-${number}`)).status).toBe(503);
}

test.each(['the primary of the data id', 'another primary'])(
  'an emptied primary is refused at once, %s, and served once it is accepted',
  async (which) => {
    cluster = await startCluster();
    await using service = await serveWhole();
    const home = await homeOf(DATA_ID_KEY);
    const emptied = which === 'another primary' ? cluster.nodes.find((node) => node !== home)! : home;
    const other = cluster.nodes.find((node) => node !== emptied)!;
    const [ofEmptied, ofOther] = [installOn(emptied), installOn(other)];
    for (const installId of [ofEmptied, ofOther]) expect((await credit(service, installId, 'k')).status).toBe(200);
    await emptied.call('FLUSHALL');
    await expectRefused(service, ofEmptied);
    await expect.poll(() => fatal().length).toBe(1);
    expect(await readiness(service)).toBe(503);
    expect((await service.get(`/v1/balance?installId=${ofEmptied}`)).status).toBe(503);
    // The other primaries are unchanged.
    expect((await credit(service, ofOther, 'k')).body).toMatchObject({ replayed: true });
    // Long enough for a read of all copies, which writes none.
    await sleep(1500);
    {
      // A process that starts now also sees the loss, although it never knew the data.
      const lines: string[] = [];
      await using started = await serve({ logLines: lines });
      await expect.poll(() => fatalIn(lines)).toHaveLength(1);
      await expectRefused(started, ofEmptied);
    }
    expect(await emptied.call('DBSIZE')).toBe(0);
    expect(await accept()).toBe(fatal()[0]!.acceptData);
    await untilReady(service);
    expect((await credit(service, ofEmptied, 'k')).body).toEqual({ ok: true, balanceAfterCoins: 1 });
    expect((await credit(service, ofOther, 'k')).body).toMatchObject({ replayed: true });
    await using _later = await serveWhole();
    expect(fatal()).toHaveLength(1);
  },
);

test('a primary that one service refuses as older is served by no other service, nor are its slots on another primary', async () => {
  cluster = await startCluster({ settings: ['--appendonly', 'no', '--save', ''] });
  const dataMemory = newMemory();
  const [node, other] = cluster.nodes as [TestNode, TestNode];
  const [installId, ofOther] = [installOn(node), installOn(other)];
  const key = lowestKey(node);
  {
    await using before = await serveWhole({ dataMemory });
    for (const each of [installId, ofOther]) expect((await credit(before, each, 'a')).status).toBe(200);
    await expect.poll(() => marksOn(cluster.nodes)).toBe(3 * 16_384);
    await node.call('SAVE');
    const { id, heartbeat } = await markOf(node, key);
    const newer = heartbeat + 15_000;
    await node.call('SET', key, dataIdValue(id, newer, Date.now(), 0));
    await expect.poll(() => dataMemory.read().newest.heartbeats[key] ?? 0).toBeGreaterThanOrEqual(newer);
  }
  await cluster.kill(node);
  await cluster.start(node);
  await cluster.untilAgreed();
  // It serves the older data before another service refuses it.
  await using fresh = await serveWhole();
  expect((await credit(fresh, installId, 'b')).status).toBe(200);
  await using old = await serve({ dataMemory, logLines: [] });
  await expect.poll(() => readiness(old)).toBe(503);
  // The lowest slot is the last one.
  await expect.poll(async () => String(await node.call('GET', key))).toMatch(/^refused: /);
  const ids = await idCopiesOf(node);
  const values = await Promise.all(ids.map((each) => node.call('GET', each)));
  expect(values.filter((value) => !String(value).startsWith('refused: '))).toEqual([]);
  expect((await credit(fresh, installId, 'c')).status).toBe(503);
  await expect.poll(() => fatal().length).toBe(1);
  const refused = `127\\.0\\.0\\.1:${node.port} was restored to a state that is .* \\(refused since 2\\S+Z\\)`;
  expect(await reasonOf(fresh)).toMatch(new RegExp(`${refused}\\. An operator has to bring it back`));
  expect((await admin('data', 'show')).out).toMatch(new RegExp(`The services refuse the data: ${refused}`));
  for (const service of [fresh, old]) expect((await credit(service, ofOther, 'a')).body).toMatchObject({ replayed: true });
  // A slot of the refused data, on a primary whose other data is right.
  await cluster.moveSlot(slotOfInstall(installId), other);
  await using later = await serve({ logLines: [] });
  for (const service of [fresh, old, later]) await expectRefused(service, installId);
  await accept();
  for (const service of [fresh, old, later]) {
    await untilReady(service);
    for (const each of [installId, ofOther]) expect((await credit(service, each, 'a')).body).toMatchObject({ replayed: true });
  }
  expect(await idCopiesOf(node)).toHaveLength(ids.length - 1);
});

test('a slot that is taken over without its keys has lost its data, and one that moves with them has not', async () => {
  cluster = await startCluster();
  await using service = await serveWhole();
  const [from, to] = cluster.nodes as [TestNode, TestNode];
  // The lowest slot has the heartbeat of its primary.
  const lowest = from.slots[0]![0];
  for (const slot of [lowest, lowest + 1, lowest + 7]) await cluster.moveSlot(slot, to);
  const installId = installOn(from);
  for (let number = 0; number < 20; number++) {
    expect((await credit(service, installId, `k${number}`)).status).toBe(200);
    await sleep(100);
  }
  expect(fatal()).toEqual([]);
  // The copies of all slots were read a moment ago, and are not read again for a while.
  const slot = slotOfInstall(installId);
  for (const key of (await from.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[]) await from.call('DEL', key);
  await cluster.moveSlot(slot, to);
  await expectRefused(service, installId);
  expect((await service.get(`/v1/balance?installId=${installId}`)).status).toBe(503);
  await expect.poll(() => fatal().length).toBe(1);
  expect(fatal()[0]!.msg).toContain(`slot ${slot} of `);
});

test('a primary whose connections broke is served again at once while another primary hangs', async () => {
  cluster = await startCluster({ settings: ['--cluster-node-timeout', '15000'] });
  await using service = await serveWhole();
  const [hanging, other] = cluster.nodes as [TestNode, TestNode];
  const installId = installOn(other);
  expect((await credit(service, installId, 'k')).status).toBe(200);
  await cluster.pause(hanging);
  // A look waits for the hanging look, until three seconds after the beginning of that look.
  await sleep(1100);
  await other.call('CLIENT', 'KILL', 'TYPE', 'normal');
  let hasGivenUp = false;
  const hung = credit(service, installOn(hanging), 'k').then(() => (hasGivenUp = true));
  await expect.poll(async () => (await credit(service, installId, 'l')).status).toBe(200);
  expect(hasGivenUp).toBe(false);
  await hung;
  await cluster.resume(hanging);
});

test('data that was imported from one Redis is served, and refused once the Cluster is emptied', async () => {
  cluster = await startCluster();
  await using single = await MovableRedis.start();
  const dataMemory = newMemory();
  const installs = cluster.nodes.map((node) => installOn(node));
  {
    await using before = await start({ redis: single.location, dataMemory });
    for (const installId of installs) await credit(before, installId, 'k');
  }
  await importFrom(single.client);
  {
    // Two processes meet the data at once.
    await using one = await serve({ dataMemory });
    await using other = await serve();
    for (const service of [one, other]) await isWhole(service);
    for (const service of [one, other])
      for (const installId of installs) expect((await credit(service, installId, 'k')).body).toMatchObject({ ok: true, replayed: true });
    expect(fatal()).toEqual([]);
    // From now on a slot without copies has lost its data.
    await expect.poll(() => marksOn(cluster.nodes)).toBe(3 * 16_384);
  }
  for (const node of cluster.nodes) await node.call('FLUSHALL');
  await using restarted = await serve({ dataMemory });
  await expect.poll(() => fatal().length).toBe(3);
  for (const installId of installs) await expectRefused(restarted, installId);
  expect([await readiness(restarted), await marksOn(cluster.nodes)]).toEqual([503, 0]);
});

/** Does the same as `redis-cli --cluster import --cluster-copy`. */
async function importFrom(source: Redis): Promise<void> {
  for (const key of await source.keys('*')) await source.call('MIGRATE', '127.0.0.1', (await homeOf(key)).port, key, 0, 5000, 'COPY');
}

test('an emptied Cluster gets no copies while the primary of the data id is away', async () => {
  cluster = await startCluster();
  const dataMemory = newMemory();
  {
    await using _before = await serveWhole({ dataMemory });
    await expect.poll(() => dataMemory.read().id).toBeDefined();
  }
  const [other, home] = cluster.nodes as [TestNode, TestNode, TestNode];
  for (const node of cluster.nodes) {
    await node.call('FLUSHALL');
    // So the other primaries serve without it.
    await node.call('CONFIG', 'SET', 'cluster-node-timeout', '15000');
  }
  // As in a Cluster of four primaries: the primary of the data id has none of the other keys that a first start reads.
  await cluster.moveSlot(slotOf(DATA_ID_KEY), home);
  await cluster.kill(home);
  await using restarted = await serve({ dataMemory });
  await sleep(1500);
  expect((await credit(restarted, installOn(other), 'k')).status).toBe(503);
  expect(await marksOn(cluster.nodes.filter((node) => node !== home))).toBe(0);
});

test('a slot that was elsewhere while its data was accepted begins a heartbeat of its own when it comes back', async () => {
  cluster = await startCluster();
  await using service = await serveWhole();
  const [to, , from] = cluster.nodes as [TestNode, TestNode, TestNode];
  const lowest = from.slots[0]![0];
  const key = `${tagOf(lowest)}${DATA_ID_KEY}`;
  const heartbeat = async () => (await markOf(from, key)).heartbeat;
  await from.call('SET', key, dataIdValue((await markOf(from, key)).id, 60_000, Date.now(), 0));
  await expect.poll(heartbeat).toBeGreaterThan(60_000);
  await cluster.moveSlot(lowest, to);
  const installId = installOn(from);
  await expect.poll(async () => (await credit(service, installId, 'a')).status).toBe(200);
  await accept();
  await expect.poll(async () => (await credit(service, installId, 'b')).status).toBe(200);
  await cluster.moveSlot(lowest, from);
  // The heartbeat of this slot is that of its primary again.
  await expect.poll(heartbeat).toBeGreaterThan(0);
  expect((await credit(service, installId, 'c')).status).toBe(200);
  expect(fatal()).toEqual([]);
});

async function makeList(node: TestNode, key: string): Promise<void> {
  await node.call('DEL', key);
  await node.call('LPUSH', key, 'x');
}

test('an acceptance overwrites the id, its copies and the secrets of a Cluster that have another type', async () => {
  cluster = await startCluster();
  const installs = cluster.nodes.map(installOn);
  await using service = await serveWhole();
  for (const installId of installs) expect((await credit(service, installId, 'k')).status).toBe(200);
  const [home, homeOfSecret] = [await homeOf(DATA_ID_KEY), await homeOf(KEY_SECRET)];
  const other = cluster.nodes.find((node) => node !== home)!;
  await makeList(home, DATA_ID_KEY);
  await makeList(other, lowestKey(other));
  await makeList(other, lowestKey(other).replace(DATA_ID_KEY, KEY_SECRET));
  await makeList(homeOfSecret, KEY_SECRET);
  const shown = await admin('data', 'show');
  const found = 'data:id in Redis is a list, and not a text: another program has overwritten it.';
  expect([shown.code, shown.error, shown.out]).toEqual([0, '', expect.stringContaining(found)]);
  await accept();
  expect([await home.call('TYPE', DATA_ID_KEY), await homeOfSecret.call('TYPE', KEY_SECRET)]).toEqual(['string', 'string']);
  for (const installId of installs) await expect.poll(async () => (await credit(service, installId, 'k')).body.replayed).toBe(true);
  await untilReady(service);
});
