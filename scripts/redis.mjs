// A Redis for the service to start by itself. Looked for in this order, the first that is new enough:
//
//   1. redis-server on the PATH
//   2. valkey-server on the PATH
//   3. <project>/.cache/redis/redis-server, which unpackRedis makes from the distribution's packages
//
// src/redis/private-redis.ts looks in the same places. 3 is a shell script that sets LD_LIBRARY_PATH and becomes
// (exec) the real binary, so its process id and signals are the server's; redis-cli lies beside it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetupProblem, cache, say } from './problem.mjs';

const home = join(cache, 'redis');
const places = ['redis-server', 'valkey-server', join(home, 'redis-server')];
// The first with Lua scripts that declare what they are allowed (#!lua flags).
const oldest = '7.0';

export function redisIsThere() {
  return places.some((place) => newEnough(versionOf(place)));
}

// "Redis server v=7.0.15 sha=…" or "Valkey server v=8.1.1 sha=…"; undefined where there is none.
function versionOf(server) {
  const run = spawnSync(server, ['--version'], { encoding: 'utf8' });
  return /\bv=(\d+\.\d+\.\d+)/.exec(run.stdout ?? '')?.[1];
}

function newEnough(version) {
  return version !== undefined && parseFloat(version) >= parseFloat(oldest);
}

// Unpacks Debian's packages into a folder of ours, which takes no root and changes nothing on the system.
// Everything happens in a folder aside that gets its name last, so a run cut short leaves nothing that looks finished.
export function unpackRedis({ forStart }) {
  say("unpacking Redis from the distribution's packages into .cache/redis …");
  const aside = join(cache, 'redis-unfinished');
  rmSync(aside, { recursive: true, force: true });
  try {
    fetchPackages(aside);
    const root = join(aside, 'root');
    for (const name of readdirSync(join(aside, 'packages'))) {
      command('dpkg-deb', ['--extract', join(aside, 'packages', name), root]);
    }
    for (const name of ['redis-server', 'redis-cli']) writeLauncher(aside, name);
    const version = versionOf(join(aside, 'redis-server'));
    if (!newEnough(version)) throw new SetupProblem(`the distribution has ${version ?? 'one that does not run here'}`);
    for (const name of ['packages', 'apt']) rmSync(join(aside, name), { recursive: true });
    rmSync(home, { recursive: true, force: true });
    renameSync(aside, home);
  } catch (problem) {
    if (!(problem instanceof SetupProblem)) throw problem;
    const orYours = forStart ? ', or set REDIS_URL to one that runs already' : '';
    throw new SetupProblem(
      `Redis ${oldest} or newer is needed; ${problem.message}. ` + `Install it, for instance with "apt-get install redis-server"${orYours}`,
    );
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

// First by the system's package lists. On a fresh machine they are empty, on an old one they name files that are gone,
// and an ordinary user cannot renew them: then by lists of our own.
function fetchPackages(aside) {
  const settings = aptSettings(aside);
  try {
    return download(aside, settings.system);
  } catch (problem) {
    if (!(problem instanceof SetupProblem)) throw problem;
  }
  // That a source is down or wrongly signed need not matter, the others may be enough: only the download tells.
  const update = spawnSync('apt-get', [...settings.own, 'update'], { encoding: 'utf8' });
  try {
    download(aside, settings.own);
  } catch (problem) {
    if (!/Failed to fetch/.test(update.stderr ?? '')) throw problem;
    throw new SetupProblem('none is installed, and apt-get cannot reach its package sources');
  }
}

function download(aside, settings) {
  const into = join(aside, 'packages');
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  command('apt-get', [...settings, 'download', ...missingPackages(settings)], { cwd: into });
}

// apt-get says what an installation would fetch, one line a package: 'address' file-name size hash.
// The two with the programs are named in any case: they may be installed, yet too old or off the PATH.
function missingPackages(settings) {
  const install = ['install', '--print-uris', '--yes', '--no-install-recommends', 'redis-server'];
  const lines = command('apt-get', [...settings, ...install]).matchAll(/^'[^']*' ([^_\s]+)_\S+ \d+/gm);
  const packages = new Set(['redis-server', 'redis-tools', ...Array.from(lines, ([, name]) => name)]);
  // A C library beside the system's loader ends every program that is to use it.
  packages.delete('libc6');
  return packages;
}

function aptSettings(aside) {
  const apt = join(aside, 'apt');
  for (const folder of ['state/lists', 'cache/archives']) mkdirSync(join(apt, folder, 'partial'), { recursive: true });
  const file = join(apt, 'apt.conf');
  writeFileSync(
    file,
    [
      // Containers and desktops hang work on an update of the system's lists; ours is none.
      '#clear APT::Update::Pre-Invoke;',
      '#clear APT::Update::Post-Invoke;',
      '#clear APT::Update::Post-Invoke-Success;',
      // As root apt fetches as the user _apt, who may not write to this folder, and warns.
      'APT::Sandbox::User "root";',
      'Acquire::Languages "none";',
      'Acquire::Retries "1";',
      'Acquire::http::Timeout "20";',
      'Acquire::https::Timeout "20";',
      '',
    ].join('\n'),
  );
  const system = ['--quiet', '--config-file', file];
  const status = ['--option', 'Dir::State::status=/var/lib/dpkg/status'];
  const own = ['--option', `Dir::State=${apt}/state`, '--option', `Dir::Cache=${apt}/cache`, ...status];
  return { system, own: [...system, ...own] };
}

function writeLauncher(folder, name) {
  const script = `#!/bin/sh
here=$(dirname -- "$(readlink -f -- "$0")")
libraries=$here/root/usr/lib/x86_64-linux-gnu:$here/root/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$here/root/usr/bin/${name}" "$@"
`;
  writeFileSync(join(folder, name), script, { mode: 0o755 });
}

function command(name, args, { cwd } = {}) {
  const run = spawnSync(name, args, { cwd, encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } });
  if (run.error?.code === 'ENOENT') throw new SetupProblem(`none is installed, and there is no ${name} to fetch it with`);
  if (run.error) throw run.error;
  if (run.status === 0) return run.stdout;
  const lines = run.stderr.trim().split('\n');
  const reason = lines.find((line) => line.startsWith('E: ')) ?? lines[lines.length - 1];
  throw new SetupProblem(`none is installed, and ${name} says "${reason.replace(/^E: /, '')}"`);
}
