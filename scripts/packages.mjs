// Keeps node_modules equal to package-lock.json.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm } from './npm.mjs';
import { SetupProblem, project, say } from './problem.mjs';

// npm writes node_modules/.package-lock.json as the last step of an install and deletes it at the start of `npm ci`. So
// when it agrees with package-lock.json, the install is complete and current. The folders are checked as well, because
// `npm install --package-lock-only` writes that file without installing anything.
export function packagesAreThere({ forStart }) {
  const wanted = readPackages('package-lock.json');
  const installed = readPackages('node_modules/.package-lock.json');
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = installed[path];
    if (found) return found.version === entry.version && found.integrity === entry.integrity && existsSync(join(project, path));
    return (forStart && entry.dev) || (entry.optional && !isForThisPlatform(entry));
  });
}

// An optional package without a platform is installed only as a dependency of a package with a platform. Here it counts
// as foreign, so its absence does not cause a new installation.
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

// npm runs under the Node that will run the service: under an older Node it would skip optional packages.
export function installPackages(node, { forStart }) {
  say('installing packages (npm ci) …');
  // Only `npm start` in production leaves out the dev dependencies. NODE_ENV=production alone must not: tests need them.
  const tools = forStart && process.env.NODE_ENV === 'production' ? '--omit=dev' : '--include=dev';
  npm(node, ['ci', tools, '--include=optional']);
  // npm silently skips an optional package that it cannot download, and oxlint, oxfmt and vitest need theirs.
  if (!packagesAreThere({ forStart })) throw new SetupProblem('npm ci left out optional packages. Run the command again');
}
