import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { KEY_SECRET } from '../src/features/coins/secret-keys.ts';
import { DATA_VERSION, DATA_VERSION_KEY, OLDEST_DATA_VERSION } from '../src/redis/data/data-version.ts';
import { upgrades } from '../src/upgrades.ts';
import { balanceOn, Children, creditOn, readinessOf } from './children.ts';
import { startCluster } from './cluster-nodes.ts';
import { freshId, start } from './harness.ts';
import { CHANGED, HOLD, makeNextVersion } from './next-version.ts';
import { startTcpRedis, type Child } from './realtime/child.ts';
import { runCommand } from './run-command.ts';

/** An invented next version of the data (`next-version.ts`): its release runs on today's data, and today's release on its data. */

const [TODAY, NEXT] = [String(DATA_VERSION), String(DATA_VERSION + 1)];
const UPGRADING = `${TODAY}>${NEXT}`;
const ACCOUNTS = 5;

let next: ReturnType<typeof makeNextVersion>;
let folder: string;
let redis: Awaited<ReturnType<typeof startTcpRedis>>;
let client: Redis;
const installs = Array.from({ length: ACCOUNTS }, () => freshId());
let children: Children;

beforeAll(() => void (next = makeNextVersion()));
afterAll(() => next.remove());
beforeEach(async () => {
  children = new Children();
  folder = children.folder;
  redis = await startTcpRedis(folder);
  client = new Redis({ path: redis.socketPath });
});
afterEach(async () => {
  client.disconnect();
  await redis.stop();
  await children[Symbol.asyncDispose]();
});

const launch = (settings: Record<string, string>, tree: 'today' | 'next'): Promise<Child> =>
  children.start({ STORE: 'off', ...settings }, tree === 'next' ? join(next.src, 'main.ts') : undefined);

/** Each process has its own DATA_DIR, with the same id of the data. */
const launchNext = (name: string): Promise<Child> => launch({ REDIS_URL: redis.url, DATA_DIR: join(folder, name) }, 'next');

const credit = (child: Child, installId: string, key = 'k1') => creditOn(child, installId, key);

/** Data of today's version, which today's coinop wrote. */
async function fill(settings: Record<string, string>): Promise<Child> {
  const service = await launch(settings, 'today');
  await expect.poll(() => readinessOf(service)).toBe(200);
  for (const installId of installs) expect((await credit(service, installId)).body).toEqual({ ok: true, balanceAfterCoins: 1 });
  return service;
}

/** Fills the Redis by a service that has stopped. */
const fillRedis = async () => (await fill({ REDIS_URL: redis.url, DATA_DIR: join(folder, 'old') })).stop();

interface Diagnosis {
  readonly kind: string;
}

const versionFinding = (out: string): Diagnosis | undefined =>
  (JSON.parse(out) as { findings: Diagnosis[] }).findings.find(({ kind }) => kind === 'data_version');

async function expectUpgraded(services: readonly Child[]): Promise<void> {
  for (const service of services) await expect.poll(() => readinessOf(service)).toBe(200);
  expect(await client.mget(DATA_VERSION_KEY, CHANGED)).toEqual([NEXT, String(ACCOUNTS)]);
  for (const [index, installId] of installs.entries()) {
    const { body } = await credit(services[index % services.length]!, installId);
    expect(body).toEqual({ ok: true, balanceAfterCoins: 1, replayed: true, balanceCoins: 1 });
  }
}

test('there is an upgrade from each version since the oldest', () => {
  const versions = Array.from({ length: DATA_VERSION - OLDEST_DATA_VERSION }, (_, index) => OLDEST_DATA_VERSION + index);
  expect(upgrades.map(({ from }) => from)).toEqual(versions);
});

test('data of today is upgraded at the start, and no process changes a ledger meanwhile', async () => {
  const old = await fill({ REDIS_URL: redis.url, DATA_DIR: join(folder, 'old') });
  await client.set(HOLD, '1');
  const service = await launchNext('new');
  await expect.poll(() => client.mget(DATA_VERSION_KEY, CHANGED)).toEqual([UPGRADING, '1']);
  expect(await readinessOf(service)).toBe(503);
  for (const each of [old, service])
    for (const [installId, key] of [
      [installs[0]!, 'k1'],
      [installs[0]!, 'new'],
      [freshId(), 'new'],
    ] as const) {
      const { status, body } = await credit(each, installId, key);
      expect([status, body.error.code, body.error.outcome]).toEqual([503, 'store_unavailable', undefined]);
    }
  expect(await balanceOn(service, installs[0]!)).toBe(1);
  await client.del(HOLD);
  await expectUpgraded([service]);
  expect((await credit(old, installs[0]!, 'new')).status).toBe(503);
});

test('two processes that start together upgrade the data once', async () => {
  await fillRedis();
  await expectUpgraded(await Promise.all(['one', 'two'].map(launchNext)));
});

test('an upgrade whose process is killed goes on at the next start', async () => {
  await fillRedis();
  await client.set(HOLD, '1');
  const killed = await launchNext('killed');
  await expect.poll(() => client.mget(DATA_VERSION_KEY, CHANGED)).toEqual([UPGRADING, '1']);
  await killed.stop('SIGKILL');
  await client.del(HOLD);
  expect(await client.get(DATA_VERSION_KEY)).toBe(UPGRADING);
  await expectUpgraded([await launchNext('next')]);
});

test('a process that stood still while a newer coinop upgraded the data leaves its version', async () => {
  await fillRedis();
  await client.set(HOLD, '1');
  const late = await launchNext('late');
  await expect.poll(() => client.get(CHANGED)).toBe('1');
  const newest = String(DATA_VERSION + 2);
  await client.multi().set(DATA_VERSION_KEY, newest).del(HOLD).exec();
  await expect.poll(() => late.output()).toContain(`The data in this Redis has version ${newest}`);
  expect(await client.get(DATA_VERSION_KEY)).toBe(newest);
  expect((await credit(late, installs[0]!)).status).toBe(503);
});

test('data that has lost its secret is not upgraded', async () => {
  await fillRedis();
  await client.del(KEY_SECRET);
  const service = await launchNext('new');
  await expect.poll(() => service.output()).toContain(`${KEY_SECRET} is missing`);
  expect(await readinessOf(service)).toBe(503);
  expect(await client.mget(DATA_VERSION_KEY, CHANGED)).toEqual([TODAY, null]);
});

test('the next version leaves older data on a Cluster as it is, and says what to do', async () => {
  await using cluster = await startCluster();
  await (await fill({ REDIS_URL: cluster.url, DATA_DIR: join(folder, 'old') })).stop();
  const service = await launch({ REDIS_URL: cluster.url, DATA_DIR: join(folder, 'new') }, 'next');
  await expect.poll(() => service.output()).toContain(`the data has version ${TODAY}: start this coinop once with the data on one Redis`);
  expect((await credit(service, installs[0]!)).status).toBe(503);
  expect(await balanceOn(service, installs[0]!)).toBe(1);
});

describe('the commands of the next version', () => {
  const run = (program: string, flags: readonly string[], settings: Record<string, string>) =>
    runCommand(join(next.src, 'commands', program), flags, { NODE_ENV: 'test', ...settings });

  test('back up data of today, audit it as upgraded data, and restore it so', async () => {
    const [dataDir, restored, file] = [join(folder, 'data'), join(folder, 'restored'), join(folder, 'old.tar')];
    await (await fill({ DATA_DIR: dataDir })).stop();
    const taken = await run('backup.ts', ['--to', file, '--json'], { DATA_DIR: dataDir });
    expect([taken.code, taken.error]).toEqual([0, '']);
    expect(JSON.parse(taken.out)).toMatchObject({ dataVersion: TODAY, verified: { coins: String(ACCOUNTS), audit: { drift: 0 } } });
    const { code, out, error } = await run('restore.ts', ['--from', file], { DATA_DIR: restored });
    expect([code, error]).toEqual([0, '']);
    expect(out).toContain(`The data was of version ${TODAY}, and is upgraded.`);
    const service = await launch({ DATA_DIR: restored }, 'next');
    for (const installId of installs) expect((await credit(service, installId)).body).toMatchObject({ replayed: true });
    const newer = await runCommand('audit.ts', [], { DATA_DIR: restored });
    expect([newer.code, newer.error]).toEqual([2, expect.stringContaining(`The data in this Redis has version ${NEXT}`)]);
  });

  test('say of data of today that the next start upgrades it, and change nothing', async () => {
    const settings = { REDIS_URL: redis.url, DATA_DIR: join(folder, 'old') };
    await (await fill(settings)).stop();
    for (const version of [TODAY, UPGRADING]) {
      await client.set(DATA_VERSION_KEY, version);
      expect(versionFinding((await run('doctor.ts', ['--json'], settings)).out)).toMatchObject({
        level: 'note',
        text: `The data has version ${version}, and this coinop writes version ${NEXT}.`,
        cost: 'The next start upgrades the data, and coin operations get 503 until then.',
      });
      const audit = await run('audit.ts', [], settings);
      const text = `The version of the data is "${version}", but this coinop writes version ${NEXT}. Start the service: it upgrades older data.`;
      expect([audit.code, audit.out]).toEqual([1, expect.stringContaining(text)]);
      const ban = await run('admin.ts', ['accounts', 'ban', installs[0]!, '--yes', '--by', 'a', '--reason', 'b'], settings);
      expect([ban.code, ban.error]).toEqual([1, expect.stringContaining('start the service, which prepares it. Nothing was changed.')]);
    }
    expect(await client.get(CHANGED)).toBeNull();
  });
});

describe('data of a version that this coinop does not take', () => {
  const settings = { REDIS_URL: '', DATA_DIR: '' };
  beforeEach(() => void Object.assign(settings, { REDIS_URL: redis.url, DATA_DIR: join(folder, 'data') }));
  const TOO_OLD = `and this coinop takes none before ${OLDEST_DATA_VERSION}: go on with the coinop that wrote it, or start this one on an empty Redis`;
  const refusals: [string, Record<string, string>, string][] = [
    ['1', {}, `The data in this Redis has ledgers and no data:version, so it has version 1, ${TOO_OLD}`],
    ['2', { [DATA_VERSION_KEY]: '2' }, `The data in this Redis has version 2, ${TOO_OLD}`],
    ['6', { [DATA_VERSION_KEY]: NEXT }, `The data in this Redis has version ${NEXT}, and this coinop knows versions up to ${TODAY}.`],
    [
      '6 that is not whole yet',
      { [DATA_VERSION_KEY]: UPGRADING },
      `has version ${UPGRADING}, and this coinop knows versions up to ${TODAY}.`,
    ],
    ['no number', { [DATA_VERSION_KEY]: 'two' }, `data:version in Redis is "two", and not a version of coinop's data.`],
  ];
  test.each(refusals)('of version %s stops the start, and nothing is changed', async (_, keys, reason) => {
    await client.rpush('{some-account}:ledger', '1 5 c5 mg8k2l3a key');
    if (Object.keys(keys).length > 0) await client.mset(keys);
    const content = async () =>
      Promise.all((await client.keys('*')).toSorted().map(async (key) => [key, (await client.dumpBuffer(key))!.toString('hex')]));
    const before = await content();
    await expect(launch(settings, 'today')).rejects.toThrow(reason);
    const { out } = await runCommand('doctor.ts', ['--json'], { ...settings, NODE_ENV: 'test' });
    const found = { level: 'danger', text: expect.stringContaining(reason), cost: 'This coinop does not start on it.' };
    expect(versionFinding(out)).toMatchObject(found);
    const audit = await runCommand('audit.ts', [], settings);
    expect([audit.code, audit.error]).toEqual([2, expect.stringContaining(reason)]);
    expect(await content()).toEqual(before);
  });

  test('imported into a Cluster without a version is not served', async () => {
    await using cluster = await startCluster();
    const primary = await cluster.primaryOf(cluster.slotOf('{some-account}:ledger'));
    await primary.call('RPUSH', '{some-account}:ledger', '1 5 c5 mg8k2l3a key');
    const logLines: string[] = [];
    await using service = await start({ redis: { url: cluster.url }, logLines });
    await expect.poll(() => logLines.join('')).toContain(`so it has version 1, ${TOO_OLD}`);
    expect((await service.post('/v1/coins/credit', { installId: freshId(), coins: 5, key: 'k1' })).status).toBe(503);
  });

  test('stops the use of a connection that meets it', async () => {
    const logLines: string[] = [];
    await using service = await start({ redis: { socketPath: redis.socketPath }, logLines });
    await client.set(DATA_VERSION_KEY, NEXT);
    await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await expect.poll(() => logLines.filter((line) => line.includes('redis cannot be used')).length).toBeGreaterThan(0);
    const { status } = await service.post('/v1/coins/credit', { installId: freshId(), coins: 1, key: 'a' });
    expect([status, (await service.get('/ready')).status]).toEqual([503, 503]);
  });
});
