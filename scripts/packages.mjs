// node_modules as package-lock.json has it.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm } from './npm.mjs';
import { SetupProblem, project, say } from './problem.mjs';

// npm writes node_modules/.package-lock.json as the last step of an install, and deletes it with the rest at the start
// of `npm ci`: when it agrees with package-lock.json the install is whole and current, whoever ran it. The folders are
// looked for as well, because `npm install --package-lock-only` writes that file without installing anything.
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

// npm itself runs under the Node that the packages are for: it skips optional packages that do not fit an older one.
export function installPackages(node, { forStart }) {
  say('fetching the packages (npm ci) …');
  // `npm start` in production needs no tools of ours; everybody else gets them, NODE_ENV=production or not.
  const tools = forStart && process.env.NODE_ENV === 'production' ? '--omit=dev' : '--include=dev';
  npm(node, ['ci', tools, '--include=optional']);
  // npm passes over an optional package that it could not fetch, and oxlint, oxfmt and vitest have some.
  if (!packagesAreThere({ forStart })) throw new SetupProblem('npm ci left packages out; run it once more');
}
