import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { ledgerKeys } from '../../src/features/coins/ledger-layout.ts';
import { PrivateRedis } from '../../src/process/private-redis.ts';
import { Children, creditOn } from '../children.ts';
import { freshId } from '../harness.ts';
import { startTcpRedis, type Child } from '../realtime/child.ts';
import { runCommand } from '../run-command.ts';
import { runAuditCommand as run } from './command.ts';
import { fillAccounts } from './fill.ts';

const COMPLAINT = /^coinop audit: [A-Z].*\.\n$/;

let children: Children;
let dataDir: string;
beforeEach(() => {
  children = new Children();
  dataDir = children.folder;
});
afterEach(() => children[Symbol.asyncDispose]());

const launch = (): Promise<Child> => children.start({ DATA_DIR: dataDir });

const credit = async (service: Child, installId: string): Promise<void> =>
  expect((await creditOn(service, installId, 'k1')).status).toBe(200);

describe('on the data of a private Redis', () => {
  test('the audit works while the service runs, and after it has stopped, without the settings that production requires', async () => {
    const service = await launch();
    await credit(service, freshId());
    const live = await run([], { DATA_DIR: dataDir });
    expect([live.code, live.error]).toEqual([0, '']);
    expect(live.out).toMatch(/^Audited 1 account, 1 bucket, 1 compared day, 1 entry, 1 ledger in [\d.]+ s\.\nNo drift\.\n$/);
    await credit(service, freshId());
    expect(await service.stop()).toBe(0);

    const stopped = await run(['--json'], { DATA_DIR: dataDir, NODE_ENV: 'production' });
    expect([stopped.code, stopped.error]).toEqual([0, '']);
    expect(JSON.parse(stopped.out)).toMatchObject({ findings: [], drift: 0, isComplete: true, checked: { accounts: 2, entries: 2 } });
    // The Redis that the audit started has ended, and the service starts on the data as before.
    expect(readdirSync(dataDir)).not.toContain('redis.sock');
    await credit(await launch(), freshId());
  });

  test('drift gives exit code 1, a sentence for each finding and all of them in JSON', async () => {
    const service = await launch();
    const installs = Array.from({ length: 4 }, () => freshId());
    const redis = new Redis({ path: join(dataDir, 'redis.sock') });
    for (const installId of installs) {
      await credit(service, installId);
      await redis.del(ledgerKeys.bucket(accountIdOf(installId), 0));
    }
    redis.disconnect();
    await service.stop();
    const listed = await run(['--list', '3'], { DATA_DIR: dataDir });
    const finding = [
      expect.stringMatching(
        /^account \S{22}: The index does not lead from the idempotency key "k1" to its entry 1\. \(entry_without_key\)$/,
      ),
      expect.stringMatching(/^ {4}Right: The entries of the ledger are right\..*\.$/),
      expect.stringMatching(/^ {4}Mend: redis-cli HSET '\{\S{22}\}:index:0' -?\d+ 1\. .*\.$/),
    ];
    const end = ['… and 1 more: --json lists all.', expect.stringMatching(/^Audited /), 'Drift: 4 findings.', ''];
    expect([listed.code, listed.error]).toEqual([1, '']);
    expect(listed.out.split('\n')).toEqual([...finding, ...finding, ...finding, ...end]);
    const all = await run(['--json'], { DATA_DIR: dataDir });
    expect(all.code).toBe(1);
    const { findings, drift } = JSON.parse(all.out) as { findings: { subject: string }[]; drift: number };
    expect(drift).toBe(4);
    expect(new Set(findings.map(({ subject }) => subject))).toEqual(new Set(installs.map((id) => `account ${accountIdOf(id)}`)));
    for (const each of findings) expect(each).toMatchObject({ right: expect.any(String), mend: expect.any(String) });
  });
});

test('a replica is audited once it has the data of its primary', async () => {
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
  expect(unlinked).toMatchObject({ code: 2, out: '', error: expect.stringMatching(COMPLAINT) });
  await follow(new URL(primary.url).port);
  await expect.poll(() => other.info('replication')).toContain('master_link_status:up');
  const linked = await run([], { REDIS_URL: replica.url });
  expect(linked.code).toBe(1);
  expect(linked.out).toContain('account nobody: Other keys name the account, but its fields and its standing are lost. (lost_account)');
  for (const each of [client, other]) each.disconnect();
  await replica.stop();
  await primary.stop();
});

describe('an audit that does not finish', () => {
  /** Enough accounts that an audit at a share of 1 % takes long. */
  async function fill(socketPath: string): Promise<void> {
    const client = new Redis({ path: socketPath });
    await fillAccounts(client, 20_000);
    client.disconnect();
  }

  /** Runs an audit at a share of 1 %, and interrupts it at its first line of progress. */
  const interrupted = (flags: string[], settings: Record<string, string>, interrupt: (child: ChildProcess) => unknown) =>
    runCommand('audit.ts', ['--share', '1', ...flags], settings, (child) => child.stderr!.once('data', () => interrupt(child)));

  test('SIGTERM stops it with exit code 2, JSON stays whole, and a Redis that goes away gives exit code 2', async () => {
    const redis = await startTcpRedis(dataDir);
    await fill(redis.socketPath);
    const settings = { REDIS_URL: redis.url };
    const ended = await interrupted(['--json'], settings, (child) => child.kill('SIGTERM'));
    expect([ended.code, ended.error]).toEqual([2, 'coinop audit: Stopped by SIGTERM before the end: nothing is proven.\n']);
    expect(JSON.parse(ended.out)).toMatchObject({ isComplete: false, failure: expect.stringContaining('SIGTERM'), findings: [], drift: 0 });
    const away = await interrupted([], settings, () => redis.stop());
    expect([away.code, away.out]).toEqual([2, expect.stringMatching(/^Not complete\. Audited /)]);
    expect(away.error).toMatch(/^coinop audit: Redis closed the connection before the end, so the audit proves nothing\./);
  });

  test('SIGINT ends the Redis that it started', async () => {
    const server = new PrivateRedis(dataDir, pino({ level: 'silent' }));
    await server.start();
    await fill(server.socketPath);
    await server.stop();
    const ended = await interrupted([], { DATA_DIR: dataDir }, (child) => child.kill('SIGINT'));
    expect(ended.code).toBe(2);
    expect(readFileSync('/proc/net/unix', 'utf8')).not.toContain(dataDir);
  });
});

test.each<[flags: string[], settings: Record<string, string>, complaint: RegExp]>([
  [['--share', '0'], {}, COMPLAINT],
  [['--share', '101'], {}, COMPLAINT],
  [['--share'], {}, COMPLAINT],
  [['--list', '-1'], {}, COMPLAINT],
  [['--sahre', '5'], {}, COMPLAINT],
  [['everything'], {}, COMPLAINT],
  [['--share', '5', '--full-speed'], {}, /^coinop audit: Give --share or --full-speed, not both\.\n$/],
  [[], { REDIS_URL: 'http://127.0.0.1' }, /^coinop audit: REDIS_URL must be an address such as .*\n$/],
  // Nobody listens there.
  [[], { REDIS_URL: 'redis://user:hidden@127.0.0.1:1' }, /^coinop audit: [A-Z](?!.*hidden).*127\.0\.0\.1:1.*\.\n$/],
  // A folder without data.
  [[], {}, COMPLAINT],
])('%j with %j is refused with one sentence and exit code 2', async (flags, settings, complaint) => {
  const { code, out, error } = await run(flags, { DATA_DIR: dataDir, ...settings });
  expect([code, out, error]).toEqual([2, '', expect.stringMatching(complaint)]);
  expect(readdirSync(dataDir)).toEqual([]);
});

test('--help prints every flag', async () => {
  const { code, out, error } = await run(['--help'], {});
  expect([code, error]).toEqual([0, '']);
  for (const flag of ['--share', '--full-speed', '--list', '--json', '--help']) expect(out).toContain(`  ${flag}`);
});
