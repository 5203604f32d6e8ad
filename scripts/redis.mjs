// Provides a Redis that the service can start as its private server. The first of these that is new enough is used:
//
//   1. redis-server on the PATH
//   2. valkey-server on the PATH
//   3. <project>/.cache/redis/redis-server, which unpackRedis makes from the distribution's packages
//
// src/process/redis-server.ts looks in the same places. The third is a shell script that sets LD_LIBRARY_PATH and
// replaces itself with the real binary (exec), so the server has its process id and gets its signals. redis-cli is next to it.
import { spawnSync } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { download, unpack, withApt } from './apt.mjs';
import { SetupProblem, cache, diskIsFull, say } from './problem.mjs';

const home = join(cache, 'redis');
const places = ['redis-server', 'valkey-server', join(home, 'redis-server')];
// The first version whose Lua scripts can declare flags (#!lua flags=…).
const oldest = '7.0';

export function redisIsThere() {
  return places.some((place) => newEnough(probe(place).version));
}

// Parses "Redis server v=7.0.15 sha=…" or "Valkey server v=8.1.1 sha=…". For a program that does not run, `error` is the
// error message of the loader.
function probe(server) {
  const run = spawnSync(server, ['--version'], { encoding: 'utf8' });
  const version = /\bv=(\d+\.\d+\.\d+)/.exec(run.stdout ?? '')?.[1];
  return { version, error: run.error?.message ?? run.stderr.trim().split('\n')[0] };
}

function newEnough(version) {
  return version !== undefined && parseFloat(version) >= parseFloat(oldest);
}

// Unpacks into a staging folder and renames it last, so an interrupted run leaves no folder that looks complete.
export function unpackRedis({ takesUrl }) {
  say("unpacking Redis from the distribution's packages into .cache/redis …");
  const staging = join(cache, 'redis-unfinished');
  try {
    rmSync(staging, { recursive: true, force: true });
    withApt(staging, (settings) => unpackAndCheck(staging, settings));
    for (const name of ['packages', 'apt']) rmSync(join(staging, name), { recursive: true });
    rmSync(home, { recursive: true, force: true });
    renameSync(staging, home);
  } catch (problem) {
    if (!(problem instanceof SetupProblem) || problem.message === diskIsFull) throw problem;
    const orUrl = takesUrl ? ', or set REDIS_URL to a running Redis' : '';
    throw new SetupProblem(
      `coinop needs Redis ${oldest} or newer; ${problem.message}. ` +
        `Install it, for instance with "apt-get install redis-server"${orUrl}`,
    );
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function unpackAndCheck(staging, settings) {
  const root = join(staging, 'root');
  rmSync(root, { recursive: true, force: true });
  download(settings, ['redis-server', 'redis-tools'], join(staging, 'packages'));
  unpack(join(staging, 'packages'), root);
  for (const name of ['redis-server', 'redis-cli']) writeLauncher(staging, name);
  const { version, error } = probe(join(staging, 'redis-server'));
  if (version === undefined) throw new SetupProblem(`the distribution's Redis does not run here: "${error}"`);
  if (!newEnough(version)) throw new SetupProblem(`the distribution's Redis is version ${version}`);
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
