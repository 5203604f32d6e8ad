// Runs npm for set-up with short timeouts and little output, and reports a failure in one line.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { SetupProblem, cache, diskIsFull, project } from './problem.mjs';

// npm's default retries take minutes. Without a network the error should come within seconds.
const shortRetries = ['--fetch-retries=2', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=3000', '--fetch-timeout=60000'];
const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
// npm also installs the uWebSockets.js builds for the other Node lines. They are not used, but engine-strict would refuse them.
const lenient = ['--engine-strict=false'];

// Runs, under the given Node, the npm that runs this script, or the npm on the PATH if the script was started by hand.
export function npm(node, args, { cwd = project } = {}) {
  const path = process.env.npm_execpath ?? '';
  const [command, ...first] = basename(path) === 'npm-cli.js' ? [node, path] : ['npm'];
  const ownCache = npmCacheIsWritable() ? undefined : join(cache, 'npm');
  try {
    const run = spawnSync(command, [...first, ...args, '--prefer-offline', ...quiet, ...shortRetries, ...lenient], {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...process.env,
        PATH: `${dirname(node)}:${process.env.PATH}`,
        npm_config_globalconfig: globalConfig(),
        ...(ownCache && { npm_config_cache: ownCache }),
      },
    });
    if (run.error) throw new SetupProblem(`npm cannot be run (${run.error.message})`);
    if (run.status !== 0) throw new SetupProblem(npmFailure(run.stderr));
  } finally {
    if (ownCache) rmSync(ownCache, { recursive: true, force: true });
  }
}

// The cache folder in the home folder may not be writable: many containers have a read-only home, and after `sudo npm` root owns it.
function npmCacheIsWritable() {
  const folder = process.env.npm_config_cache ?? join(homedir(), '.npm');
  try {
    for (const each of [folder, join(folder, '_cacache'), join(folder, '_cacache/tmp')]) {
      mkdirSync(each, { recursive: true });
      accessSync(each, constants.W_OK);
    }
    return true;
  } catch {
    return false;
  }
}

// npm looks for the global npmrc next to the Node that runs it. A fetched Node has none there, so the machine's npmrc is passed on.
function globalConfig() {
  if (process.env.npm_config_globalconfig) return process.env.npm_config_globalconfig;
  return spawnSync('npm', ['config', 'get', 'globalconfig'], { encoding: 'utf8' }).stdout?.trim();
}

function npmFailure(stderr) {
  if (/\b(ENOSPC|EDQUOT)\b/.test(stderr)) return diskIsFull;
  const unreachable = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT|E50[234])\b/;
  const code = unreachable.exec(stderr)?.[1];
  // After eight lines a long report is only npm's usage text.
  if (!code) return `npm ci failed:\n${stderr.trim().split('\n').slice(0, 8).join('\n')}`;
  return `npm's registry cannot be reached (${code}). Check the network, npm's registry and its proxy, then try again`;
}
