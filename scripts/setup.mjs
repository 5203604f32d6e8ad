// Makes `npm start`, `npm test` and `npm run bench` work on a fresh clone: npm runs this file before each of them
// (package.json: prestart, pretest, prebench and so on). It provides these things and prints nothing when none is missing:
//
//   - Node 24, or 22 where the C library is older, on the PATH or as node_modules/.bin/node   (node.mjs)
//   - the packages of package-lock.json in node_modules                                      (packages.mjs)
//   - Redis 7.0 or newer, on the PATH or unpacked to .cache/redis/redis-server                (redis.mjs)
//   - for tests: Chromium, on the PATH or unpacked to .cache/chromium/chromium                (chromium.mjs)
//   - for prove:operations: Prometheus, nginx and Caddy, unpacked to .cache/operations     (operations.mjs)
//   - for prove:clients: Godot, on the PATH or unpacked to .cache/godot/godot                 (godot.mjs)
//   - for prove:openapi: Java, Mono, PHP, Ruby and Python with libraries, on the PATH or unpacked to .cache/languages (languages.mjs)
//   - for prove:clients: Mono, Python and mypy, in the same way
//
// It must run on any Node from 18 on and before any package is installed: use built-in modules only, and no syntax or
// API newer than Node 18.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromiumIsThere, unpackChromium } from './chromium.mjs';
import { godotIsThere, unpackGodot } from './godot.mjs';
import { provideNode, linkNode, nodeIsThere, refuseForeignPlatform } from './node.mjs';
import { languagesAreThere, unpackLanguages } from './languages.mjs';
import { operationsAreThere, unpackOperations } from './operations.mjs';
import { installPackages, packagesAreThere } from './packages.mjs';
import { SetupProblem, cache, diskIsFull, say } from './problem.mjs';
import { redisIsThere, unpackRedis } from './redis.mjs';

// A run by hand provides everything that the tests need.
const takesUrl = ['prestart', 'predev', 'preaudit', 'predoctor', 'prebackup', 'prerestore'].includes(process.env.npm_lifecycle_event);
const forStart = takesUrl || process.env.npm_lifecycle_event === 'precluster';
const needsRedis = !(takesUrl && process.env.REDIS_URL);
// Browser tests are skipped without a Chromium, so a single test file or the slow tests do not fetch one.
const needsChromium = /^pre(test|test:coverage|prove:(pages|suite))$/.test(process.env.npm_lifecycle_event ?? '');
const languageProof = /^preprove:(openapi|clients)$/.exec(process.env.npm_lifecycle_event ?? '')?.[1];
const needsGodot = process.env.npm_lifecycle_event === 'preprove:clients';
const needsOperations = process.env.npm_lifecycle_event === 'preprove:operations';

function everythingIsThere() {
  return (
    nodeIsThere() &&
    packagesAreThere({ forStart }) &&
    (!needsRedis || redisIsThere()) &&
    (!needsChromium || chromiumIsThere()) &&
    (!needsGodot || godotIsThere()) &&
    (!needsOperations || operationsAreThere()) &&
    (!languageProof || languagesAreThere(languageProof))
  );
}

function provideWhatIsMissing() {
  if (!nodeIsThere() || !packagesAreThere({ forStart })) {
    const node = provideNode();
    if (!packagesAreThere({ forStart })) installPackages(node, { forStart });
    linkNode(node);
  }
  if (needsRedis && !redisIsThere()) unpackRedis({ takesUrl });
  if (needsChromium && !chromiumIsThere()) unpackChromium();
  if (needsGodot && !godotIsThere()) unpackGodot();
  if (needsOperations && !operationsAreThere()) unpackOperations();
  if (languageProof && !languagesAreThere(languageProof)) provideLanguages();
}

// Without a language `prove:clients` runs the other ones. It then names those that it could not run, and has not passed.
function provideLanguages() {
  try {
    unpackLanguages(languageProof);
  } catch (problem) {
    if (!(problem instanceof SetupProblem) || problem.message === diskIsFull || languageProof !== 'clients') throw problem;
    say(problem.message);
  }
}

// Two concurrent `npm start` on a fresh clone must not install over each other. flock(1) takes the lock and runs this file
// again. The kernel releases the lock when that process ends, even by a crash, so no stale lock remains. A run that had to
// wait checks again what is missing. Returns false when the machine has no flock.
function runUnderLock() {
  mkdirSync(cache, { recursive: true });
  // The folder has its own .gitignore, so git ignores it even without the project's .gitignore.
  writeFileSync(join(cache, '.gitignore'), '*\n');
  const again = [join(cache, 'setup.lock'), process.execPath, fileURLToPath(import.meta.url), '--locked'];
  const busy = 75;
  let run = spawnSync('flock', ['--nonblock', '--conflict-exit-code', String(busy), ...again], { stdio: 'inherit' });
  if (run.status === busy) {
    say('waiting for another set-up in this folder …');
    run = spawnSync('flock', again, { stdio: 'inherit' });
  }
  if (run.error) return false;
  process.exitCode = run.status ?? 1;
  return true;
}

try {
  refuseForeignPlatform();
  const locked = process.argv.includes('--locked');
  if (!everythingIsThere() && (locked || !runUnderLock())) provideWhatIsMissing();
} catch (problem) {
  // System errors print their message. Any other error is a defect of this script, and is rethrown with its stack.
  if (!(problem instanceof SetupProblem) && !problem.syscall) throw problem;
  say(['ENOSPC', 'EDQUOT'].includes(problem.code) ? diskIsFull : problem.message);
  process.exitCode = 1;
}
