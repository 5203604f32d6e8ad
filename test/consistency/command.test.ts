import { createServer } from 'node:net';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from '../../src/redis/data-version.ts';
import { ledgerKeys } from '../../src/features/coins/ledger-layout.ts';
import { PrivateRedis } from '../../src/process/private-redis.ts';
import { freshId, request } from '../harness.ts';
import { startChild, startTcpRedis, type Child } from '../realtime/child.ts';
import { runAuditCommand as run } from './command.ts';
import { fillAccounts } from './fill.ts';

const COMPLAINT = /^coinop audit: [A-Z].*\.\n$/;

const services: Child[] = [];
let dataDir: string;
beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), 'coinop-audit-'))));
afterEach(async () => {
  // A failed test may have left its service running.
  await Promise.all(services.splice(0).map((service) => service.stop('SIGKILL')));
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

async function launch(settings: Record<string, string>): Promise<Child> {
  const service = await startChild(settings);
  services.push(service);
  return service;
}

async function credit(service: Child, installId: string): Promise<void> {
  const body = JSON.stringify({ installId, coins: 5, key: 'k1' });
  expect((await request(service.url, '/v1/coins/credit', { method: 'POST' }, body)).status).toBe(200);
}

describe('on the data of a private Redis', () => {
  test('the audit works while the service runs and after it has stopped', { timeout: 60_000 }, async () => {
    const service = await launch({ DATA_DIR: dataDir });
    await credit(service, freshId());
    const live = await run([], { DATA_DIR: dataDir });
    expect([live.code, live.error]).toEqual([0, '']);
    expect(live.out).toMatch(/^Audited 1 account, 1 bucket, 1 entry, 1 ledger in [\d.]+ s\.\nNo drift\.\n$/);
    await credit(service, freshId());
    expect(await service.stop()).toBe(0);

    const stopped = await run(['--json'], { DATA_DIR: dataDir });
    expect([stopped.code, stopped.error]).toEqual([0, '']);
    expect(JSON.parse(stopped.out)).toMatchObject({ findings: [], drift: 0, isComplete: true, checked: { accounts: 2, entries: 2 } });
    // The Redis that the audit started has ended, and the service starts on the data as before.
    expect(readdirSync(dataDir)).not.toContain('redis.sock');
    const again = await launch({ DATA_DIR: dataDir });
    await credit(again, freshId());
    expect(await again.stop()).toBe(0);
  });

  test('drift gives exit code 1, a sentence for each finding and all of them in JSON', { timeout: 60_000 }, async () => {
    const service = await launch({ DATA_DIR: dataDir });
    const installs = Array.from({ length: 4 }, () => freshId());
    const redis = new Redis({ path: join(dataDir, 'redis.sock') });
    for (const installId of installs) {
      await credit(service, installId);
      await redis.del(ledgerKeys.bucket(accountIdOf(installId), 0));
    }
    redis.disconnect();
    await service.stop();
    const listed = await run(['--list', '3'], { DATA_DIR: dataDir });
    expect([listed.code, listed.error]).toEqual([1, '']);
    const lines = listed.out.trim().split('\n');
    for (const place of [0, 3, 6])
      expect(lines.slice(place, place + 3)).toEqual([
        expect.stringMatching(/^account \S{22}: The index does not lead from the key "k1" to its entry 1\. \(entry_without_key\)$/),
        expect.stringMatching(/^ {4}Right: The entries of the ledger are right\..*\.$/),
        expect.stringMatching(/^ {4}Mend: redis-cli HSET '\{\S{22}\}:index:0' -?\d+ 1\. .*\.$/),
      ]);
    expect(lines.slice(9)).toEqual(['… and 1 more: --json lists all.', expect.stringMatching(/^Audited /), 'Drift: 4 findings.']);
    const all = await run(['--json'], { DATA_DIR: dataDir });
    expect(all.code).toBe(1);
    const { findings, drift } = JSON.parse(all.out) as { findings: { subject: string; right: string; mend: string }[]; drift: number };
    expect(drift).toBe(4);
    for (const { right, mend } of findings) expect([right, mend]).toEqual([expect.any(String), expect.any(String)]);
    expect(findings.map(({ subject }) => subject).toSorted()).toEqual(
      installs.map((install) => `account ${accountIdOf(install)}`).toSorted(),
    );
  });

  test('a folder without data gives exit code 2', async () => {
    const { code, out, error } = await run([], { DATA_DIR: dataDir });
    expect([code, out]).toEqual([2, '']);
    expect(error).toMatch(COMPLAINT);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  test('the audit does not need the settings that production requires', { timeout: 30_000 }, async () => {
    await (await launch({ DATA_DIR: dataDir })).stop();
    const { code, error } = await run([], { DATA_DIR: dataDir, NODE_ENV: 'production' });
    expect([code, error]).toEqual([0, '']);
  });
});

describe('on the Redis of REDIS_URL', () => {
  test('the audit works on a database that services use', { timeout: 60_000 }, async () => {
    const redis = await startTcpRedis(dataDir);
    const settings = { REDIS_URL: redis.url, DATA_DIR: join(dataDir, 'unused') };
    const service = await launch({ ...settings, SESSION_KEYS: `k:${'A'.repeat(43)}` });
    await credit(service, freshId());
    const { code, out, error } = await run([], settings);
    expect([code, error]).toEqual([0, '']);
    expect(out).toContain('1 account,');
    await service.stop();
    await redis.stop();
  });

  test('data of a newer version is not audited', { timeout: 60_000 }, async () => {
    const redis = await startTcpRedis(dataDir);
    const client = new Redis({ path: redis.socketPath });
    await client.set(DATA_VERSION_KEY, DATA_VERSION + 1);
    client.disconnect();
    const { code, error } = await run([], { REDIS_URL: redis.url });
    expect([code, error]).toEqual([2, expect.stringContaining(`The data in this Redis has version ${DATA_VERSION + 1}`)]);
    await redis.stop();
  });

  test('without a Redis there, or with a bad address, the exit code is 2', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => probe.once('listening', resolve));
    const { port } = probe.address() as { port: number };
    await new Promise((resolve) => probe.close(resolve));
    const nobody = await run([], { REDIS_URL: `redis://user:hidden@127.0.0.1:${port}` });
    expect([nobody.code, nobody.out]).toEqual([2, '']);
    expect(nobody.error).toMatch(COMPLAINT);
    expect(nobody.error).toContain(`127.0.0.1:${port}`);
    expect(nobody.error).not.toContain('hidden');
    const bad = await run([], { REDIS_URL: 'http://127.0.0.1' });
    expect(bad.code).toBe(2);
    expect(bad.error).toMatch(/^coinop audit: REDIS_URL must be an address such as .*\n$/);
  });
});

test('a replica is audited once it has the data of its primary', { timeout: 60_000 }, async () => {
  const primary = await startTcpRedis(join(dataDir, 'primary'));
  const client = new Redis({ path: primary.socketPath });
  await client.config('SET', 'repl-diskless-sync-delay', 0);
  await client.hset('{nobody}:index:0', '1', 1);
  const replica = await startTcpRedis(join(dataDir, 'replica'));
  const other = new Redis({ path: replica.socketPath });
  const follow = (port: string): Promise<unknown> => other.replicaof('127.0.0.1', Number(port));
  // Nobody listens on port 1.
  await follow('1');
  const unlinked = await run([], { REDIS_URL: replica.url });
  expect([unlinked.code, unlinked.out]).toEqual([2, '']);
  expect(unlinked.error).toMatch(COMPLAINT);
  await follow(new URL(primary.url).port);
  await expect.poll(() => other.info('replication'), { timeout: 20_000 }).toContain('master_link_status:up');
  const linked = await run([], { REDIS_URL: replica.url });
  expect(linked.code).toBe(1);
  expect(linked.out).toContain('account nobody: Other keys name it, and neither its fields nor its standing are there. (lost_account)');
  for (const each of [client, other]) each.disconnect();
  await replica.stop();
  await primary.stop();
});

describe('an audit that does not finish', () => {
  /** A Redis with enough accounts that an audit at a share of 1 % takes long. */
  async function filled(): Promise<{ url: string; stop: () => Promise<void> }> {
    const redis = await startTcpRedis(dataDir);
    const client = new Redis({ path: redis.socketPath });
    await fillAccounts(client, 20_000);
    client.disconnect();
    return redis;
  }

  test.each(['SIGINT', 'SIGTERM'] as const)('%s stops it with exit code 2, and JSON stays whole', { timeout: 60_000 }, async (signal) => {
    const redis = await filled();
    const ended = await run(['--share', '1', '--json'], { REDIS_URL: redis.url }, (kill) => kill(signal));
    await redis.stop();
    expect(ended.code).toBe(2);
    expect(ended.error).toBe(`coinop audit: Stopped by ${signal} before the end: nothing is proven.\n`);
    expect(ended.progress[0]).toMatch(/^audit: \d+ %, [\d,]+ accounts, [\d,]+ a second(, \d+:\d\d left)?\n$/);
    expect(JSON.parse(ended.out)).toMatchObject({ isComplete: false, failure: expect.stringContaining(signal), findings: [], drift: 0 });
  });

  test('a Redis that goes away gives exit code 2', { timeout: 60_000 }, async () => {
    const redis = await filled();
    const ended = await run(['--share', '1'], { REDIS_URL: redis.url }, () => redis.stop());
    expect(ended.code).toBe(2);
    expect(ended.out).toMatch(/^Not complete\. Audited /);
    expect(ended.error).toMatch(/^coinop audit: Redis closed the connection before the end: nothing is proven\./);
  });

  test('SIGINT ends the Redis that it started', { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(dataDir, 'own-'));
    const server = new PrivateRedis(folder, pino({ level: 'silent' }));
    await server.start();
    const client = new Redis({ path: server.socketPath });
    await fillAccounts(client, 20_000);
    client.disconnect();
    await server.stop();
    const ended = await run(['--share', '1'], { DATA_DIR: folder }, (kill) => kill('SIGINT'));
    expect(ended.code).toBe(2);
    expect(readFileSync('/proc/net/unix', 'utf8')).not.toContain(folder);
  });
});

describe('flags', () => {
  test.each([['--share', '0'], ['--share', '101'], ['--share', 'much'], ['--share'], ['--list', '-1'], ['--sahre', '5'], ['everything']])(
    '%s %s is refused with one sentence and exit code 2',
    async (...flags) => {
      const { code, out, error } = await run(flags, { DATA_DIR: dataDir });
      expect([code, out]).toEqual([2, '']);
      expect(error).toMatch(COMPLAINT);
    },
  );

  test('--share and --full-speed together are refused', async () => {
    const { code, error } = await run(['--share', '5', '--full-speed'], {});
    expect([code, error]).toEqual([2, 'coinop audit: Give --share or --full-speed, not both.\n']);
  });

  test('--help prints every flag and touches nothing', async () => {
    const { code, out, error } = await run(['--help'], { DATA_DIR: join(dataDir, 'nowhere') });
    expect([code, error]).toEqual([0, '']);
    for (const flag of ['--share', '--full-speed', '--list', '--json', '--help']) expect(out).toContain(`  ${flag}`);
  });
});
