import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, test, vi } from 'vitest';
import { redisServerPath } from '../../../src/process/redis-server.ts';
import { startCluster } from '../../cluster-nodes.ts';
import { childEnvironment } from '../../environment.ts';
import { freePorts } from '../../free-port.ts';
import { freshId } from '../../harness.ts';
import type { Child } from '../../realtime/child.ts';
import { runCommand } from '../../run-command.ts';
import { credit, deleteAccount, Load, usePlace } from '../../commands/place.ts';
import { PATIENT } from '../../patience.ts';

/** Runs the shell lines of docs/backup.md for an operator's own Redis and for a Cluster, with other paths and addresses. */

const root = fileURLToPath(new URL('../../..', import.meta.url));
const page = readFileSync(join(root, 'docs/backup.md'), 'utf8');

/** The shell lines below a heading, up to the next heading. */
function blocksOf(heading: string): string[] {
  const [, section = ''] = new RegExp(`^## ${heading}\n([\\s\\S]*?)^## `, 'm').exec(page) ?? [];
  return [...section.matchAll(/^( *)```sh\n([\s\S]*?)^\1```$/gm)].map(([, , lines]) => lines!);
}

const [takeSnapshot, saveOnServer, takeListAgain, putSnapshot, deleteAgain, trySnapshot] = blocksOf('A Redis of your own') as [
  string,
  string,
  string,
  string,
  string,
  string,
];
const [takeParts, putPart, joinNodes] = blocksOf('A Redis Cluster') as [string, string, string];

const place = usePlace({ STORE: 'off' });
beforeEach(() => mkdirSync(join(place.folder, 'backups')));

/** A Redis like an operator's: a folder with a redis.conf, and no parent process. */
class OwnServer {
  readonly folder: string;
  readonly port: number;
  readonly password: string | undefined;

  constructor(name: string, port: number, settings: readonly string[], password?: string) {
    [this.folder, this.port, this.password] = [join(place.folder, name), port, password];
    mkdirSync(this.folder, { mode: 0o700 });
    const own = [`port ${port}`, 'bind 127.0.0.1', `dir ${this.folder}`, `pidfile ${this.folder}/pid`, `logfile ${this.folder}/log`];
    writeFileSync(this.conf, [...own, 'daemonize yes', ...settings, ''].join('\n'));
    place.ends(this);
  }

  get conf(): string {
    return join(this.folder, 'redis.conf');
  }

  get url(): string {
    return `redis://${this.password === undefined ? '' : `default:${this.password}@`}127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    const file = join(this.folder, 'pid');
    if (!existsSync(file)) return;
    const pid = Number(readFileSync(file, 'utf8'));
    process.kill(pid, 'SIGKILL');
    await vi.waitUntil(() => !existsSync(`/proc/${pid}`), PATIENT);
  }
}

/** A redis-cli that by default connects to the server of the machine on which it would run. */
function clientOf(server: OwnServer | undefined): string {
  const program = ['redis-cli', 'valkey-cli'].map((name) => join(dirname(redisServerPath()), name)).find(existsSync);
  const address =
    server === undefined ? '' : `-p ${server.port} ${server.password === undefined ? '' : `--no-auth-warning -a ${server.password}`}`;
  return `#!/bin/sh
case " $* " in *" -u "*|*" -p "*|*" --cluster "*) exec "${program}" "$@" ;; *) exec "${program}" ${address} "$@" ;; esac
`;
}

/** Shell functions that replace missing parts of a test's machine: systemd, and Debian's user of Redis. */
function machineOf(server: OwnServer | undefined): string {
  return `set -eu
redis-server() { "${redisServerPath()}" "$@"; }
chown() { [ "$3" = appendonlydir ]; }
npm() { [ "$1" = run ]; "${process.execPath}" "${root}src/commands/$2.ts"; }
systemctl() {
  if [ "$1" = start ]; then redis-server ${server?.conf}; else redis-cli shutdown || true; while [ -e ${server?.folder}/pid ]; do sleep 0.05; done; fi
  [ "$1" = stop ] || until redis-cli ping | grep -q PONG; do sleep 0.05; done
}
`;
}

/** Runs shell lines of docs/backup.md. @returns their output */
async function run(lines: string, server: OwnServer | undefined, variables: Record<string, string> = {}): Promise<string> {
  const own = lines.replaceAll('/mnt/backups', join(place.folder, 'backups')).replaceAll('/var/lib/redis', server?.folder ?? '');
  const programs = mkdtempSync(join(place.folder, 'programs-'));
  writeFileSync(join(programs, 'redis-cli'), clientOf(server), { mode: 0o700 });
  const child = spawn('bash', ['--norc', '-c', machineOf(server) + own], {
    env: childEnvironment({ PATH: `${programs}:${process.env['PATH']}`, ...variables }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => void (output += text.toString()));
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect([code, output]).toEqual([0, output]);
  return output;
}

const launch = (redisUrl: string): Promise<Child> => place.launch({ REDIS_URL: redisUrl });

/** The restored service has each operation that was acknowledged before the backup, and the deleted account stays deleted. */
async function expectRestored(service: Child, load: Load, before: number, deleted: string): Promise<void> {
  await load.expectOnceOn(service, before);
  await expect.poll(async () => (await credit(service, deleted, 'late')).error?.code).toBe('account_deleted');
}

async function expectSound(redisUrl: string): Promise<void> {
  const audit = await runCommand('audit.ts', [], { REDIS_URL: redisUrl });
  expect([audit.code, audit.out]).toEqual([0, expect.stringContaining('No drift')]);
}

const AOF = ['appendonly yes', 'appendfsync always'];
const SNAPSHOTS = ['appendonly no', 'save 3600 1'];

/** For `appendonly no` the page has only a description, no shell lines. */
const putFile = 'systemctl stop redis-server\ncp /mnt/backups/coinop.rdb /var/lib/redis/dump.rdb\nsystemctl start redis-server\n';

test.each([
  ['a snapshot over the network', takeSnapshot, AOF, putSnapshot],
  ['BGSAVE', saveOnServer, AOF, putSnapshot],
  ['a snapshot of a Redis without an append-only file', takeSnapshot, SNAPSHOTS, putFile],
] as const)('a Redis of your own is restored by the lines of the page: %s', async (_, take, settings, put) => {
  const acl = ['user backup on >hidden ~tombstones +sync +replconf +zrange'];
  const server = new OwnServer('redis', await freePorts(1), ['requirepass secret', ...acl, ...settings], 'secret');
  await run('systemctl start redis-server', server);
  const service = await launch(server.url);
  const deleted = freshId();
  await credit(service, deleted, 'k', 9);
  // The snapshot begins after 5 s, and each operation is sent again at the end.
  const load = new Load(service, 10);
  await load.reaches(200);
  const before = load.done.length;
  const limited = server.url.replace('default:secret', 'backup:hidden');
  const output = await run(take, server, { REDIS_URL: take === takeSnapshot ? limited : server.url });
  expect(output).toContain(take === takeSnapshot ? 'Transfer finished with success' : 'rdb_last_bgsave_status:ok');
  expect(load.done.length).toBeGreaterThan(before);
  await load.stop();
  const snapshot = join(place.folder, 'backups/coinop.rdb');
  if (take === takeSnapshot) expect(statSync(snapshot).mode & 0o777).toBe(0o600);
  await deleteAccount(service, deleted);
  await run(takeListAgain, server, { REDIS_URL: server.url });
  await service.stop();

  const port = await freePorts(1);
  expect(await run(trySnapshot.replaceAll('7777', String(port)), undefined)).toContain('No drift');

  await run(put, server);
  await run(deleteAgain, server, { REDIS_URL: server.url });
  await expectSound(server.url);
  await expectRestored(await launch(server.url), load, before, deleted);
});

test('a Cluster is restored by the lines of the page', async () => {
  await using old = await startCluster();
  const service = await launch(old.url);
  const deleted = freshId();
  await credit(service, deleted, 'k', 9);
  // The snapshot begins after 5 s, and each operation is sent again at the end.
  const load = new Load(service, 10);
  await load.reaches(200);
  const before = load.done.length;
  const [first = 0, second = 0, third = 0] = old.nodes.map(({ port }) => port);
  const named = (lines: string): string =>
    lines
      .replaceAll('10.0.0.5:6379', `127.0.0.1:${first}`)
      .replaceAll('10.0.0.6:6379', `127.0.0.1:${second}`)
      .replaceAll('10.0.0.7:6379', `127.0.0.1:${third}`);
  const output = await run(named(takeParts), undefined);
  expect(output.match(/Transfer finished with success/g)).toHaveLength(3);
  await load.stop();
  await deleteAccount(service, deleted);
  await run(named(takeParts.replace(/^.*--rdb.*\n/m, '').replace('part=/mnt/backups/', 'part=/mnt/backups/since-')), undefined);
  await service.stop();

  const port = await freePorts(3, 10_000);
  const nodes = [0, 1, 2].map((index) => new OwnServer(`new-${index}`, port + index, [...AOF, 'cluster-enabled yes']));
  for (const [index, node] of nodes.entries()) {
    await run('systemctl start redis-server', node);
    await run(putPart.replace('10.0.0.5:6379', `127.0.0.1:${[first, second, third][index]}`), node);
  }
  const joined = joinNodes
    .replaceAll('10.0.1.5:6379', `127.0.0.1:${port}`)
    .replace('10.0.1.6 6379', `127.0.0.1 ${port + 1}`)
    .replace('10.0.1.7 6379', `127.0.0.1 ${port + 2}`);
  expect(await run(joined, nodes[0])).toContain('All 16384 slots covered');
  const url = `redis-cluster://${nodes.map((node) => `127.0.0.1:${node.port}`).join(',')}`;
  await expectSound(url);
  await expectRestored(await launch(url), load, before, deleted);
});
