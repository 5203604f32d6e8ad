import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { DATA_ID_KEY } from '../../src/redis/data-id.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../../src/redis/data-version.ts';
import { runAdmin } from '../operator/console/command.ts';
import { startChild, startTcpRedis, type Child } from '../realtime/child.ts';
import { runCommand } from '../run-command.ts';

let folder: string;
let children: Child[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-lost-command-'));
  children = [];
});
afterEach(async () => {
  await Promise.all(children.map((child) => child.stop()));
  rmSync(folder, { recursive: true, force: true });
});

async function launch(settings: Record<string, string>): Promise<Child> {
  const child = await startChild({ STORE: 'off', ...settings });
  children.push(child);
  return child;
}

async function stop(child: Child): Promise<void> {
  children.splice(children.indexOf(child), 1);
  await child.stop();
}

async function credit({ url }: Child, key: string): Promise<number> {
  const body = JSON.stringify({ installId: 'install-lost-command', coins: 1, key });
  const { status } = await fetch(`${url}/v1/coins/credit`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return status;
}

const readiness = async ({ url }: Child) => (await fetch(`${url}/ready`)).status;

const knownIn = (dataDir: string) => readFileSync(join(dataDir, 'data-id'), 'utf8').trim();

test('two workers and a second service refuse an emptied Redis, until the tool accepts it', { timeout: 180_000 }, async () => {
  const redis = await startTcpRedis(folder);
  const client = new Redis(redis.url);
  try {
    const [one, two] = [
      await launch({ REDIS_URL: redis.url, DATA_DIR: join(folder, 'one'), WORKERS: '2' }),
      await launch({ REDIS_URL: redis.url, DATA_DIR: join(folder, 'two') }),
    ];
    expect(await Promise.all([one, two].map((child) => credit(child, 'a')))).toContain(200);
    const before = knownIn(join(folder, 'one'));
    await client.flushall();
    const statuses = await Promise.all(Array.from({ length: 200 }, (_, index) => credit(index % 2 === 0 ? one : two, `k${index}`)));
    expect(new Set(statuses)).toEqual(new Set([503]));
    await expect.poll(() => readiness(one)).toBe(503);
    expect(one.output()).toMatch(/"level":60.*has lost its data: it is empty/);
    expect(await client.dbsize()).toBe(0);
    const refused = await runAdmin(['accounts', 'find', 'install-lost-command'], { REDIS_URL: redis.url, DATA_DIR: join(folder, 'one') });
    expect([refused.code, refused.error]).toEqual([1, expect.stringContaining('the data was lost or swapped')]);
    const doctor = await runCommand('doctor.ts', ['--json'], { REDIS_URL: redis.url, DATA_DIR: join(folder, 'one'), NODE_ENV: 'test' });
    expect(doctor.out).toContain('data_lost');
    // The tool does not know the services' folders.
    const accepted = await runAdmin(['data', 'accept', '--yes', '--json', '--reason', 'a drill'], {
      REDIS_URL: redis.url,
      DATA_DIR: join(folder, 'none'),
    });
    expect([accepted.code, accepted.error]).toEqual([0, '']);
    const { id } = JSON.parse(accepted.out) as { id: string };
    for (const child of [one, two]) await expect.poll(() => readiness(child)).toBe(200);
    await expect.poll(async () => [await credit(one, 'b'), await credit(two, 'c')]).toEqual([200, 200]);
    expect([knownIn(join(folder, 'one')), knownIn(join(folder, 'two')), (await client.get(DATA_ID_KEY))!.slice(0, 22)]).toEqual([
      id,
      id,
      id,
    ]);
    expect(id).not.toBe(before);
    const log = await runAdmin(['log', '--json'], { REDIS_URL: redis.url });
    expect(log.out).toContain('data accept');
    // The service of another folder saw this data 100 s of serving later.
    const later = { REDIS_URL: redis.url, DATA_DIR: join(folder, 'later'), NODE_ENV: 'test' };
    knowNewer(later.DATA_DIR, (await client.get(DATA_ID_KEY))!);
    const shown = await runAdmin(['data', 'show'], later);
    const older =
      /The data in Redis is \d+ s older than the one that the services of DATA_DIR saw: it ends at 20.*, and what was acknowledged from then until 2286-01-01T00:00:00.000Z is missing\./;
    expect([shown.code, shown.out]).toEqual([0, expect.stringMatching(older)]);
    const banned = await runAdmin(['accounts', 'ban', 'install-lost-command', '--reason', 'test', '--yes'], later);
    expect([banned.code, banned.error]).toEqual([1, expect.stringMatching(older)]);
    const ofLater = await runCommand('doctor.ts', ['--json'], later);
    const { findings } = JSON.parse(ofLater.out) as { findings: { kind: string; text: string; mend: string }[] };
    expect(findings.find(({ kind }) => kind === 'data_lost')).toMatchObject({
      text: expect.stringMatching(older),
      mend: expect.stringContaining('npm run admin -- data accept'),
    });
    const audit = await runCommand('audit.ts', [], { REDIS_URL: redis.url });
    expect([audit.code, audit.out]).toEqual([0, expect.not.stringMatching(/unknown key/)]);
  } finally {
    client.disconnect();
    await Promise.all(children.splice(0).map((child) => child.stop()));
    await redis.stop();
  }
});

/** Lets DATA_DIR know the data as it will be after another 100 s of serving. */
function knowNewer(dataDir: string, value: string): void {
  const [id, heartbeat] = value.split(' ');
  const newest = { heartbeats: { [DATA_ID_KEY]: Number(heartbeat) + 100_000 }, times: { [DATA_ID_KEY]: Date.UTC(2286, 0, 1) } };
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(dataDir, 'data-id'), `${id}\n`);
  writeFileSync(join(dataDir, 'data-heartbeats'), JSON.stringify({ id, ...newest }));
}

test('data that one service refuses is refused by all services and commands, until the tool accepts it', { timeout: 180_000 }, async () => {
  const redis = await startTcpRedis(folder);
  const client = new Redis(redis.url);
  const ofTool = { REDIS_URL: redis.url, DATA_DIR: join(folder, 'none') };
  try {
    const serving = await launch({ REDIS_URL: redis.url, DATA_DIR: join(folder, 'one'), WORKERS: '2' });
    expect(await credit(serving, 'a')).toBe(200);
    knowNewer(join(folder, 'later'), (await client.get(DATA_ID_KEY))!);
    const refusing = await launch({ REDIS_URL: redis.url, DATA_DIR: join(folder, 'later') });
    expect(await readiness(refusing)).toBe(503);
    await expect.poll(() => client.get(DATA_ID_KEY)).toMatch(/^refused: /);
    expect(new Set(await Promise.all(Array.from({ length: 50 }, (_, index) => credit(serving, `k${index}`))))).toEqual(new Set([503]));
    await expect.poll(() => readiness(serving)).toBe(503);
    await expect.poll(() => serving.output().match(/"level":60.*was restored to a state that is .* \(refused since 2/g)).toHaveLength(2);
    const refused =
      /The services refuse the data: this Redis was restored to a state that is \d+ s older than the one that the service on \S+ saw.* \(refused since 2\S+Z\)\./;
    const shown = await runAdmin(['data', 'show'], ofTool);
    expect([shown.code, shown.out]).toEqual([0, expect.stringMatching(refused)]);
    const banned = await runAdmin(['accounts', 'ban', 'install-lost-command', '--reason', 'test', '--yes'], ofTool);
    expect([banned.code, banned.error]).toEqual([1, expect.stringMatching(refused)]);
    const doctor = await runCommand('doctor.ts', ['--json'], { ...ofTool, NODE_ENV: 'test' });
    const { findings } = JSON.parse(doctor.out) as { findings: { kind: string; text: string }[] };
    expect(findings.find(({ kind }) => kind === 'data_lost')).toMatchObject({ text: expect.stringMatching(refused) });
    const audit = await runCommand('audit.ts', [], { REDIS_URL: redis.url });
    expect([audit.code, audit.out]).toEqual([0, expect.stringContaining('No drift.')]);
    const accepted = await runAdmin(['data', 'accept', '--yes'], ofTool);
    expect([accepted.code, accepted.error]).toEqual([0, '']);
    for (const child of [serving, refusing]) await expect.poll(() => readiness(child), { timeout: 5000 }).toBe(200);
    await expect.poll(() => credit(serving, 'a')).toBe(200);
  } finally {
    client.disconnect();
    await Promise.all(children.splice(0).map((child) => child.stop()));
    await redis.stop();
  }
});

test('a backup of refused data is served once it is restored', { timeout: 180_000 }, async () => {
  const dataDir = join(folder, 'data');
  const first = await launch({ DATA_DIR: dataDir });
  expect(await credit(first, 'a')).toBe(200);
  const client = new Redis({ path: join(dataDir, 'redis.sock') });
  const value = (await client.get(DATA_ID_KEY))!;
  client.disconnect();
  await stop(first);
  knowNewer(dataDir, value);
  const refusing = await launch({ DATA_DIR: dataDir });
  expect(await readiness(refusing)).toBe(503);
  const file = join(folder, 'backup.tar');
  const backup = await runCommand('backup.ts', ['--to', file], { DATA_DIR: dataDir });
  expect([backup.code, backup.error]).toEqual([0, '']);
  await stop(refusing);
  // Also for a service that never saw the newer state.
  rmSync(join(dataDir, 'data-heartbeats'));
  const still = await launch({ DATA_DIR: dataDir });
  expect([await readiness(still), still.output()]).toEqual([503, expect.stringContaining('refused since')]);
  await stop(still);
  const restore = await runCommand('restore.ts', ['--from', file, '--replace'], { DATA_DIR: dataDir });
  expect([restore.code, restore.error]).toEqual([0, '']);
  const restored = await launch({ DATA_DIR: dataDir });
  expect([await readiness(restored), await credit(restored, 'a')]).toEqual([200, 200]);
});

test('commands say in plain words that the id or the version of the data has another type', { timeout: 180_000 }, async () => {
  const redis = await startTcpRedis(folder);
  const client = new Redis(redis.url);
  const settings = { REDIS_URL: redis.url, DATA_DIR: join(folder, 'data') };
  const replace = (key: string) => client.multi().del(key).lpush(key, 'x').exec();
  const doctor = async () => {
    const { out } = await runCommand('doctor.ts', ['--json'], { ...settings, NODE_ENV: 'test' });
    return (JSON.parse(out) as { findings: { kind: string; text: string; mend: string }[] }).findings;
  };
  try {
    const service = await launch(settings);
    expect(await credit(service, 'a')).toBe(200);
    await replace(DATA_ID_KEY);
    const id = 'data:id in Redis is a list, and not a text: another program has overwritten it.';
    const mend = 'If all other data is right, give it a new id: npm run admin -- data accept (docs/operating.md#data-that-is-gone).';
    const shown = await runAdmin(['data', 'show'], settings);
    expect([shown.code, shown.error, shown.out]).toEqual([0, '', expect.stringContaining(`In Redis: none\n`)]);
    expect(shown.out).toContain(`\n${id} ${mend}\n`);
    const banned = await runAdmin(['accounts', 'ban', 'install-lost-command', '--reason', 'test', '--yes'], settings);
    expect([banned.code, banned.error]).toEqual([1, `coinop admin: ${id} ${mend} Nothing was changed.\n`]);
    expect((await doctor()).find(({ kind }) => kind === 'data_lost')).toMatchObject({ text: id, mend });
    const audit = await runCommand('audit.ts', [], settings);
    expect([audit.code, audit.out]).toEqual([1, expect.stringContaining('key data:id: Its type in Redis is list')]);
    expect(audit.out).toContain('Mend: npm run admin -- data accept, once you know that all other data is right.');
    const accepted = await runAdmin(['data', 'accept', '--yes'], settings);
    expect([accepted.code, accepted.error]).toEqual([0, '']);
    await expect.poll(() => readiness(service)).toBe(200);

    await replace(DATA_VERSION_KEY);
    const version = 'data:version in Redis is a list, and not a text: another program has overwritten it.';
    expect(await credit(service, 'b')).toBe(503);
    await expect.poll(async () => (await fetch(`${service.url}/ready`)).text()).toContain(version);
    expect(service.output()).toContain(version);
    for (const words of [
      ['data', 'show'],
      ['data', 'accept', '--yes'],
    ]) {
      const { code, error } = await runAdmin(words, settings);
      expect([code, error]).toEqual([
        2,
        expect.stringMatching(`^coinop admin: ${version} Copy the key from a backup of this data .*: redis-cli SET data:version 5\\.\n$`),
      ]);
    }
    expect((await runCommand('audit.ts', [], settings)).error).toContain(version);
    expect((await doctor()).find(({ kind }) => kind === 'data_version')).toMatchObject({
      text: version,
      mend: expect.stringContaining('redis-cli SET data:version 5'),
    });
    await stop(service);
    await expect(launch(settings)).rejects.toThrow(version);
    await client.set(DATA_VERSION_KEY, DATA_VERSION);
    const again = await launch(settings);
    expect([await readiness(again), await credit(again, 'b')]).toEqual([200, 200]);

    await replace(KEY_SECRET);
    expect(await credit(again, 'c')).toBe(503);
    const secret =
      'ledger:secret in Redis is a list, and not a text: another program has overwritten it. Copy the key from a backup of this data';
    await expect.poll(async () => (await fetch(`${again.url}/ready`)).text()).toContain(secret);
  } finally {
    client.disconnect();
    await Promise.all(children.splice(0).map((child) => child.stop()));
    await redis.stop();
  }
});

test('a private Redis whose folder is gone is refused, and a restore accepts itself', { timeout: 180_000 }, async () => {
  const dataDir = join(folder, 'data');
  const first = await launch({ DATA_DIR: dataDir });
  expect(await credit(first, 'a')).toBe(200);
  const file = join(folder, 'backup.tar');
  const backup = await runCommand('backup.ts', ['--to', file], { DATA_DIR: dataDir });
  expect([backup.code, backup.error]).toEqual([0, '']);
  const before = knownIn(dataDir);
  expect(await credit(first, 'b')).toBe(200);
  await stop(first);
  rmSync(join(dataDir, 'redis'), { recursive: true });
  const emptied = await launch({ DATA_DIR: dataDir });
  expect([await readiness(emptied), await credit(emptied, 'a')]).toEqual([503, 503]);
  const [, id] = /"acceptData":"([^"]+)"/.exec(emptied.output())!;
  await stop(emptied);
  const accepting = await launch({ DATA_DIR: dataDir, ACCEPT_DATA: id! });
  expect([await readiness(accepting), knownIn(dataDir)]).toEqual([200, id]);
  await stop(accepting);
  const restore = await runCommand('restore.ts', ['--from', file, '--replace'], { DATA_DIR: dataDir });
  expect([restore.code, restore.error]).toEqual([0, '']);
  const restored = await launch({ DATA_DIR: dataDir });
  expect([await readiness(restored), await credit(restored, 'c')]).toEqual([200, 200]);
  expect([before, id]).not.toContain(knownIn(dataDir));
  expect(restored.output()).not.toMatch(/"level":60/);
});
