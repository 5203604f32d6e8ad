// A Redis for the service to start by itself. Looked for in this order, the first that is new enough:
//
//   1. redis-server on the PATH
//   2. valkey-server on the PATH
//   3. <project>/.cache/redis/redis-server, which unpackRedis makes from the distribution's packages
//
// src/process/private-redis.ts looks in the same places. 3 is a shell script that sets LD_LIBRARY_PATH and becomes
// (exec) the real binary, so its process id and signals are the server's; redis-cli lies beside it.
import { spawnSync } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LastWord, aptWays, download, unpack } from './apt.mjs';
import { SetupProblem, cache, diskIsFull, say } from './problem.mjs';

const home = join(cache, 'redis');
const places = ['redis-server', 'valkey-server', join(home, 'redis-server')];
// The first with Lua scripts that declare what they are allowed (#!lua flags).
const oldest = '7.0';

export function redisIsThere() {
  return places.some((place) => newEnough(look(place).version));
}

// "Redis server v=7.0.15 sha=…" or "Valkey server v=8.1.1 sha=…"; where the program does not run, the loader's words.
function look(server) {
  const run = spawnSync(server, ['--version'], { encoding: 'utf8' });
  const version = /\bv=(\d+\.\d+\.\d+)/.exec(run.stdout ?? '')?.[1];
  return { version, complaint: run.error?.message ?? run.stderr.trim().split('\n')[0] };
}

function newEnough(version) {
  return version !== undefined && parseFloat(version) >= parseFloat(oldest);
}

// Everything happens in a folder aside that gets its name last, so a run cut short leaves nothing that looks finished.
export function unpackRedis({ forStart }) {
  say("unpacking Redis from the distribution's packages into .cache/redis …");
  const aside = join(cache, 'redis-unfinished');
  try {
    rmSync(aside, { recursive: true, force: true });
    unpackOneThatRuns(aside);
    for (const name of ['packages', 'apt']) rmSync(join(aside, name), { recursive: true });
    rmSync(home, { recursive: true, force: true });
    renameSync(aside, home);
  } catch (problem) {
    if (!(problem instanceof SetupProblem) || problem.message === diskIsFull) throw problem;
    const orYours = forStart ? ', or set REDIS_URL to one that runs already' : '';
    throw new SetupProblem(
      `Redis ${oldest} or newer is needed; ${problem.message}. ` + `Install it, for instance with "apt-get install redis-server"${orYours}`,
    );
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function unpackOneThatRuns(aside) {
  let problem;
  for (const way of aptWays(aside)) {
    try {
      return unpackAndTry(aside, way());
    } catch (error) {
      if (!(error instanceof SetupProblem)) throw error;
      problem = error;
      if (error instanceof LastWord) break;
    }
  }
  throw problem;
}

function unpackAndTry(aside, settings) {
  const root = join(aside, 'root');
  rmSync(root, { recursive: true, force: true });
  download(settings, ['redis-server', 'redis-tools'], join(aside, 'packages'));
  unpack(join(aside, 'packages'), root);
  for (const name of ['redis-server', 'redis-cli']) writeLauncher(aside, name);
  const { version, complaint } = look(join(aside, 'redis-server'));
  if (version === undefined) throw new SetupProblem(`the one that the distribution has does not run here: "${complaint}"`);
  if (!newEnough(version)) throw new SetupProblem(`the distribution has ${version}`);
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
