// Makes `npm start`, `npm test` and `npm run bench` work on a fresh clone: npm runs this file before each of them
// (package.json: prestart, pretest, prebench and so on). It sees to three things and says nothing when they are there:
//
//   - Node 24, or 22 where the C library is older, on the PATH or as node_modules/.bin/node   (node.mjs)
//   - the packages of package-lock.json in node_modules                                      (packages.mjs)
//   - Redis 7.0 or newer, on the PATH or unpacked to .cache/redis/redis-server                (redis.mjs)
//
// It must run on whatever Node the machine has (18 and up), before any package is installed: built-in modules only,
// and no syntax or API newer than Node 18.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bringNode, linkNode, nodeIsThere, refuseForeignPlatform } from './node.mjs';
import { installPackages, packagesAreThere } from './packages.mjs';
import { SetupProblem, cache, diskIsFull, say } from './problem.mjs';
import { redisIsThere, unpackRedis } from './redis.mjs';

// Run by hand, it prepares for everything, as for the tests.
const forStart = ['prestart', 'predev'].includes(process.env.npm_lifecycle_event);
const needsRedis = !(forStart && process.env.REDIS_URL);

function everythingIsThere() {
  return nodeIsThere() && packagesAreThere({ forStart }) && (!needsRedis || redisIsThere());
}

function bringWhatIsMissing() {
  if (!nodeIsThere() || !packagesAreThere({ forStart })) {
    const node = bringNode();
    if (!packagesAreThere({ forStart })) installPackages(node, { forStart });
    linkNode(node);
  }
  if (needsRedis && !redisIsThere()) unpackRedis({ forStart });
}

// Two `npm start` at once on a fresh clone must not install over each other. flock(1) runs this file again while it
// holds the lock; the kernel lets go of the lock when that process ends, however it ends, so none is ever left behind.
// Whoever waited looks again at what is missing and mostly finds nothing. Returns false where there is no flock.
function runUnderLock() {
  mkdirSync(cache, { recursive: true });
  // The folder hides itself from git, wherever it is made.
  writeFileSync(join(cache, '.gitignore'), '*\n');
  const again = [join(cache, 'setup.lock'), process.execPath, fileURLToPath(import.meta.url), '--locked'];
  const busy = 75;
  let run = spawnSync('flock', ['--nonblock', '--conflict-exit-code', String(busy), ...again], { stdio: 'inherit' });
  if (run.status === busy) {
    say('waiting for another setup in this folder …');
    run = spawnSync('flock', again, { stdio: 'inherit' });
  }
  if (run.error) return false;
  process.exitCode = run.status ?? 1;
  return true;
}

try {
  refuseForeignPlatform();
  const locked = process.argv.includes('--locked');
  if (!everythingIsThere() && (locked || !runUnderLock())) bringWhatIsMissing();
} catch (problem) {
  // Only a defect of this script deserves its stack.
  if (!(problem instanceof SetupProblem) && !problem.syscall) throw problem;
  say(['ENOSPC', 'EDQUOT'].includes(problem.code) ? diskIsFull : problem.message);
  process.exitCode = 1;
}
