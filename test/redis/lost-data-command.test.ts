import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { DATA_ID_KEY } from '../../src/redis/data/data-id.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../../src/redis/data/data-version.ts';
import { Children, creditOn, readinessOf } from '../children.ts';
import { runAdmin } from '../operator/terminal/command.ts';
import { startTcpRedis, type Child } from '../realtime/child.ts';
import { runCommand } from '../run-command.ts';

vi.setConfig({ testTimeout: 180_000 });

let children: Children;
let folder: string;
let redis: Awaited<ReturnType<typeof startTcpRedis>>;
let client: Redis;
beforeEach(async () => {
  children = new Children();
  folder = children.folder;
  redis = await startTcpRedis(folder);
  client = new Redis(redis.url);
});
afterEach(async () => {
  client.disconnect();
  await redis.stop();
  await children[Symbol.asyncDispose]();
});

const launch = (settings: Record<string, string>): Promise<Child> => children.start({ STORE: 'off', ...settings });

const credit = async (child: Child, key: string): Promise<number> => (await creditOn(child, 'install-lost-command', key)).status;

const untilServed = (child: Child) => expect.poll(() => readinessOf(child)).toBe(200);
const reasonOf = async ({ url }: Child) => (await fetch(`${url}/ready`)).text();

const knownIn = (name: string) => readFileSync(join(folder, name, 'data-id'), 'utf8').trim();

/** The settings of a service or a command with a DATA_DIR of its own, on the shared Redis. */
const on = (name: string) => ({ REDIS_URL: redis.url, DATA_DIR: join(folder, name) });

const ban = ['accounts', 'ban', 'install-lost-command', '--reason', 'test', '--yes'];

interface Diagnosis {
  readonly kind: string;
  readonly text: string;
  readonly mend: string;
}

async function diagnosisOf(kind: string, settings: Record<string, string>): Promise<Diagnosis | undefined> {
  const { out } = await runCommand('doctor.ts', ['--json'], { ...settings, NODE_ENV: 'test' });
  return (JSON.parse(out) as { findings: Diagnosis[] }).findings.find((finding) => finding.kind === kind);
}

/** Expects that a command of the tool says these texts. */
async function expectSaid(words: string[], settings: Record<string, string>, said: { code: number; out?: unknown; error?: unknown }) {
  expect(await runAdmin(words, settings)).toMatchObject(said);
}

/** Expects that the data is refused for a reason by the tool and the doctor, and that the audit finds no drift in it. */
async function expectCommandsRefuse(reason: RegExp, settings: Record<string, string>): Promise<void> {
  await expectSaid(['data', 'show'], settings, { code: 0, out: expect.stringMatching(reason) });
  await expectSaid(ban, settings, { code: 1, error: expect.stringMatching(reason) });
  const mend = expect.stringContaining('npm run admin -- data accept');
  expect(await diagnosisOf('data_lost', settings)).toMatchObject({ text: expect.stringMatching(reason), mend });
  expect(await runCommand('audit.ts', [], settings)).toMatchObject({ code: 0, out: expect.stringContaining('No drift.') });
}

/** Lets DATA_DIR know the data as it will be after another 100 s of serving. */
function knowNewer(dataDir: string, value: string): void {
  const [id, heartbeat] = value.split(' ');
  const newest = { heartbeats: { [DATA_ID_KEY]: Number(heartbeat) + 100_000 }, times: { [DATA_ID_KEY]: Date.UTC(2286, 0, 1) } };
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(dataDir, 'data-id'), `${id}\n`);
  writeFileSync(join(dataDir, 'data-heartbeats'), JSON.stringify({ id, ...newest }));
}

test('two workers and a second service refuse an emptied Redis, until the tool accepts it', async () => {
  const [one, two] = [await launch({ ...on('one'), WORKERS: '2' }), await launch(on('two'))];
  expect(await Promise.all([one, two].map((child) => credit(child, 'a')))).toContain(200);
  const before = knownIn('one');
  await client.flushall();
  const statuses = await Promise.all(Array.from({ length: 200 }, (_, index) => credit(index % 2 === 0 ? one : two, `k${index}`)));
  expect(new Set(statuses)).toEqual(new Set([503]));
  await expect.poll(() => readinessOf(one)).toBe(503);
  expect(one.output()).toMatch(/"level":60.*has lost its data: it is empty/);
  expect(await client.dbsize()).toBe(0);
  await expectSaid(ban, on('one'), { code: 1, error: expect.stringContaining('the data was lost or swapped') });
  expect(await diagnosisOf('data_lost', on('one'))).toBeDefined();
  // The tool does not know the services' folders.
  const accepted = await runAdmin(['data', 'accept', '--yes', '--json', '--reason', 'a drill'], on('none'));
  expect([accepted.code, accepted.error]).toEqual([0, '']);
  const { id } = JSON.parse(accepted.out) as { id: string };
  for (const child of [one, two]) await untilServed(child);
  await expect.poll(async () => [await credit(one, 'b'), await credit(two, 'c')]).toEqual([200, 200]);
  expect([knownIn('one'), knownIn('two'), (await client.get(DATA_ID_KEY))!.slice(0, 22)]).toEqual([id, id, id]);
  expect(id).not.toBe(before);
  expect((await runAdmin(['log', '--json'], on('none'))).out).toContain('data accept');
});

test('data that one service refuses is refused by all services and commands, until the tool accepts it', async () => {
  const serving = await launch({ ...on('one'), WORKERS: '2' });
  expect(await credit(serving, 'a')).toBe(200);
  // The service of another folder saw this data 100 s of serving later.
  knowNewer(join(folder, 'later'), (await client.get(DATA_ID_KEY))!);
  await expectCommandsRefuse(
    /The data in Redis is \d+ s older than the one that the services of DATA_DIR saw: it ends at 20.*, and what was acknowledged from then until 2286-01-01T00:00:00.000Z is missing\./,
    on('later'),
  );
  const refusing = await launch(on('later'));
  expect(await readinessOf(refusing)).toBe(503);
  await expect.poll(() => client.get(DATA_ID_KEY)).toMatch(/^refused: /);
  expect(new Set(await Promise.all(Array.from({ length: 50 }, (_, index) => credit(serving, `k${index}`))))).toEqual(new Set([503]));
  await expect.poll(() => readinessOf(serving)).toBe(503);
  await expect.poll(() => serving.output().match(/"level":60.*was restored to a state that is .* \(refused since 2/g)).toHaveLength(2);
  await expectCommandsRefuse(
    /The services refuse the data: this Redis was restored to a state that is \d+ s older than the one that the service on \S+ saw.* \(refused since 2\S+Z\)\./,
    on('none'),
  );
  await expectSaid(['data', 'accept', '--yes'], on('none'), { code: 0, error: '' });
  for (const child of [serving, refusing]) await untilServed(child);
  await expect.poll(() => credit(serving, 'a')).toBe(200);
});

test('a backup of refused data is served once it is restored', async () => {
  const [dataDir, file] = [join(folder, 'data'), join(folder, 'backup.tar')];
  const first = await launch({ DATA_DIR: dataDir });
  expect(await credit(first, 'a')).toBe(200);
  const own = new Redis({ path: join(dataDir, 'redis.sock') });
  const value = (await own.get(DATA_ID_KEY))!;
  own.disconnect();
  await first.stop();
  knowNewer(dataDir, value);
  const refusing = await launch({ DATA_DIR: dataDir });
  expect(await readinessOf(refusing)).toBe(503);
  expect(await runCommand('backup.ts', ['--to', file], { DATA_DIR: dataDir })).toMatchObject({ code: 0, error: '' });
  await refusing.stop();
  // Also for a service that never saw the newer state.
  rmSync(join(dataDir, 'data-heartbeats'));
  const still = await launch({ DATA_DIR: dataDir });
  expect([await readinessOf(still), still.output()]).toEqual([503, expect.stringContaining('refused since')]);
  await still.stop();
  expect(await runCommand('restore.ts', ['--from', file, '--replace'], { DATA_DIR: dataDir })).toMatchObject({ code: 0, error: '' });
  const restored = await launch({ DATA_DIR: dataDir });
  expect([await readinessOf(restored), await credit(restored, 'a')]).toEqual([200, 200]);
});

test('commands say in plain words that the id or the version of the data has another type', async () => {
  const settings = on('data');
  const makeList = (key: string) => client.multi().del(key).lpush(key, 'x').exec();
  const isList = (key: string) => `${key} in Redis is a list, and not a text: another program has overwritten it.`;
  const service = await launch(settings);
  expect(await credit(service, 'a')).toBe(200);
  await makeList(DATA_ID_KEY);
  const mend = 'If all other data is right, give it a new id: npm run admin -- data accept (docs/operating.md#data-that-is-gone).';
  const text = isList(DATA_ID_KEY);
  await expectSaid(['data', 'show'], settings, { code: 0, error: '', out: expect.stringMatching(/In Redis: none\n[^]*/) });
  expect((await runAdmin(['data', 'show'], settings)).out).toContain(`\n${text} ${mend}\n`);
  await expectSaid(ban, settings, { code: 1, error: `coinop admin: ${text} ${mend} Nothing was changed.\n` });
  expect(await diagnosisOf('data_lost', settings)).toMatchObject({ text, mend });
  const audit = await runCommand('audit.ts', [], settings);
  expect([audit.code, audit.out]).toEqual([1, expect.stringContaining("key data:id: The key's type in Redis is list")]);
  expect(audit.out).toContain('Mend: npm run admin -- data accept, once you know that all other data is right.');
  await expectSaid(['data', 'accept', '--yes'], settings, { code: 0, error: '' });
  await untilServed(service);

  await makeList(DATA_VERSION_KEY);
  const version = isList(DATA_VERSION_KEY);
  expect(await credit(service, 'b')).toBe(503);
  await expect.poll(() => reasonOf(service)).toContain(version);
  expect(service.output()).toContain(version);
  const copy = `Copy the key from a backup of this data .*: redis-cli SET data:version ${DATA_VERSION}`;
  for (const words of [['show'], ['accept', '--yes']])
    await expectSaid(['data', ...words], settings, { code: 2, error: expect.stringMatching(`^coinop admin: ${version} ${copy}\\.\n$`) });
  expect((await runCommand('audit.ts', [], settings)).error).toContain(version);
  expect(await diagnosisOf('data_version', settings)).toMatchObject({ text: version, mend: expect.stringMatching(copy) });
  await service.stop();
  await expect(launch(settings)).rejects.toThrow(version);
  await client.set(DATA_VERSION_KEY, DATA_VERSION);
  const again = await launch(settings);
  expect([await readinessOf(again), await credit(again, 'b')]).toEqual([200, 200]);

  await makeList(KEY_SECRET);
  expect(await credit(again, 'c')).toBe(503);
  await expect.poll(() => reasonOf(again)).toContain(`${isList(KEY_SECRET)} Copy the key from a backup of this data`);
});
