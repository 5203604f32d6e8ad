import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { freePorts } from '../free-port.ts';
import { childEnvironment } from '../environment.ts';
import { PATIENT } from '../patience.ts';

const command = fileURLToPath(new URL('../../src/commands/cluster.ts', import.meta.url));

let dataDir: string;
/** The first of enough consecutive free ports for six nodes. */
let port: number;
const running = new Set<ChildProcess>();

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'coinop-cluster-'));
  port = await freePorts(6, 10_000);
});
afterEach(async () => {
  await Promise.all([...running].map((child) => (child.kill('SIGTERM'), once(child, 'exit'))));
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

interface Command {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  output(): string;
}

function cluster(...flags: string[]): Command {
  const child = spawn(process.execPath, [command, '--port', String(port), ...flags], {
    env: childEnvironment({ DATA_DIR: dataDir }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => void (output += text.toString()));
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  void exited.then(() => running.delete(child));
  return { child, exited, output: () => output };
}

async function started(...flags: string[]): Promise<Command> {
  const run = cluster(...flags);
  await vi.waitUntil(() => run.output().includes('REDIS_URL=') || run.child.exitCode !== null, PATIENT);
  if (run.child.exitCode !== null) throw new Error(run.output());
  return run;
}

async function stopped({ child, exited }: Command, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  child.kill(signal);
  expect(await exited).toBe(0);
}

async function failed(...flags: string[]): Promise<string> {
  const run = cluster(...flags);
  expect(await run.exited).toBe(1);
  return run.output();
}

/** Sends commands to the node of a port. */
async function ask(port: number, ...commands: string[][]): Promise<unknown[]> {
  const redis = new Redis({ host: '127.0.0.1', port, retryStrategy: null, maxRetriesPerRequest: 0 });
  redis.on('error', () => {});
  try {
    const answers: unknown[] = [];
    for (const [name, ...words] of commands) answers.push(await redis.call(name!, words));
    return answers;
  } finally {
    redis.disconnect();
  }
}

const isReachable = (port: number): Promise<boolean> =>
  ask(port, ['PING']).then(
    () => true,
    () => false,
  );

test('npm run cluster prints the processes and the URL of three primaries on loopback, and a second start finds the cluster and its data', async () => {
  const first = await started();
  const hosts = [port, port + 1, port + 2].map((each) => `127.0.0.1:${each}`).join(',');
  const infos = await Promise.all([0, 1, 2].map((index) => ask(port + index, ['INFO', 'server'])));
  const pids = infos.map((info) => /process_id:(\d+)/.exec(String(info))![1]);
  const processes = pids.map((pid, index) => `port ${port + index}: process ${pid}\n`).join('');
  expect(first.output()).toBe(`${processes}DATA_DIR=${dataDir}/cluster REDIS_URL=redis-cluster://${hosts} npm start\n`);
  // CRC16 of "a" is 31879, and 31879 modulo 16384 is 15495: the third of three primaries has it.
  await ask(port + 2, ['SET', 'a', '7']);
  const [id, ...settings] = await ask(
    port,
    ['CLUSTER', 'MYID'],
    ...['bind', 'appendonly', 'appendfsync', 'maxmemory-policy', 'cluster-node-timeout'].map((name) => ['CONFIG', 'GET', name]),
  );
  expect(settings).toEqual([
    ['bind', '127.0.0.1'],
    ['appendonly', 'yes'],
    ['appendfsync', 'everysec'],
    ['maxmemory-policy', 'noeviction'],
    ['cluster-node-timeout', '2000'],
  ]);
  await stopped(first, 'SIGINT');
  expect(await isReachable(port)).toBe(false);

  const second = await started('--appendfsync', 'always');
  expect(await ask(port, ['CLUSTER', 'MYID'], ['CONFIG', 'GET', 'appendfsync'])).toEqual([id, ['appendfsync', 'always']]);
  expect(await ask(port + 2, ['GET', 'a'])).toEqual(['7']);
  await stopped(second);
});

test('replicas join a cluster that has data, come back without the flag, and take over', async () => {
  await stopped(await started());
  const replicated = await started('--replicas', '1');
  const primaryOf = async (replica: number): Promise<unknown[]> => {
    const [role] = (await ask(replica, ['ROLE'])) as [unknown[]];
    return [role[0], role[2], role[3]];
  };
  for (const replica of [port + 3, port + 4, port + 5]) expect(await primaryOf(replica)).toEqual(['slave', replica - 3, 'connected']);
  await stopped(replicated);

  expect(await failed('--replicas', '0')).toMatch(
    /^coinop cluster: The cluster in .* has 1 replica of each primary\. Leave --replicas out/,
  );
  const again = await started();
  expect(await primaryOf(port + 3)).toEqual(['slave', port, 'connected']);

  // A node that is killed is named, its replica takes over, and the next start brings it back.
  const pid = Number(/process_id:(\d+)/.exec(String(await ask(port, ['INFO', 'server'])))![1]);
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => again.output()).toContain(`coinop cluster: the Redis of port ${port} ended (SIGKILL).`);
  await expect.poll(async () => (await primaryOf(port + 3))[0]).toBe('master');
  await stopped(again);
  await started();
  expect((await primaryOf(port))[0]).toBe('slave');
});

test('two clusters do not share a folder, and nodes that outlive a killed command are stopped by the next start', async () => {
  const first = await started();
  await ask(port + 2, ['SET', 'a', '7']);
  expect(await failed()).toBe(`coinop cluster: DATA_DIR ${dataDir} is in use: another cluster keeps its data there.\n`);
  first.child.kill('SIGKILL');
  await first.exited;
  await started();
  expect(await ask(port + 2, ['GET', 'a'])).toEqual(['7']);
});

test('a signal during the start stops what runs by then, with exit code 0', async () => {
  const run = cluster();
  await vi.waitUntil(() => existsSync(join(dataDir, 'cluster', String(port), 'nodes.conf')), PATIENT);
  run.child.kill('SIGTERM');
  expect(await run.exited).toBe(0);
  expect(await isReachable(port)).toBe(false);
});

test.each([
  ['for clients', 1],
  ['for other nodes', 10_002],
])('a port %s that is taken is named, and no node stays behind', async (_, offset) => {
  const holder = createServer().listen(port + offset, '127.0.0.1');
  await once(holder, 'listening');
  try {
    expect(await failed()).toMatch(
      new RegExp(`^coinop cluster: Port ${port + offset}.* cannot be used \\(EADDRINUSE\\)\\. .*--port\\.\n$`),
    );
    expect(await isReachable(port)).toBe(false);
  } finally {
    holder.close();
  }
});

test('a node that does not start is named with the file of its reason, and one whose folder is gone is not replaced by an empty one', async () => {
  await stopped(await started());
  const folder = join(dataDir, 'cluster', String(port));
  rmSync(join(folder, 'appendonlydir', 'appendonly.aof.1.base.rdb'));
  expect(await failed()).toContain(`The Redis of port ${port} does not start. Its reason is in ${join(folder, 'redis.log')}.`);
  expect(readFileSync(join(folder, 'redis.log'), 'utf8')).toContain('appendonly.aof.1.base.rdb');
  rmSync(folder, { recursive: true });
  expect(await failed()).toMatch(/^coinop cluster: The node that had slots 0 to 5460 of the cluster is gone: .* Restore its folder, or/);
});

test.each([
  [['--replicas', '4'], 'The flag --replicas takes a whole number from 0 to 3.'],
  [['--replica', '1'], "Unknown option '--replica'. See --help."],
])('the flags %j are refused', async (flags, message) => {
  expect(await failed(...flags)).toBe(`coinop cluster: ${message}\n`);
  expect(existsSync(join(dataDir, 'cluster'))).toBe(false);
});
