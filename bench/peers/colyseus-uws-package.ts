import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

/** A package that `npm ci` does not install. It is fetched from npm's registry as a single tarball. */
export interface FetchedPackage {
  readonly name: string;
  readonly version: string;
  /** `sha512-` and the hash of the tarball in base64, as in package-lock.json. */
  readonly integrity: string;
}

/**
 * Colyseus's uWebSockets transport. It depends on uWebSockets.js from GitHub. An override in package.json could replace that
 * with the npm build, but `npm ci` of npm 9.2, the version in Debian 12 and 13, compares the override's range with the GitHub
 * address as if both were versions, and fails with "Invalid comparator".
 */
export const uwsTransportPackage: FetchedPackage = {
  name: '@colyseus/uwebsockets-transport',
  version: '0.18.2',
  integrity: 'sha512-tsYoAQ4chVtvKwaGSk394WsIoklq4cZbKX0mWvyvEzY3eBnS9+A3n2Aub4NOqgy3Ntp6qfYNLnjypoR+OA2ogw==',
};

/** The folder is inside the project, so that the packages find their imports in the project's node_modules. */
const packages = fileURLToPath(new URL('../../.cache/bench', import.meta.url));

/** The URL for importing a file of a fetched package. */
export function urlOf(wanted: FetchedPackage, path: string, folder = packages): string {
  return pathToFileURL(join(homeOf(wanted, folder), path)).href;
}

/**
 * Fetches and unpacks a package unless its folder exists. It unpacks into a staging folder and renames it last, so an
 * interrupted run leaves no folder that looks complete.
 * @throws when the download fails or the tarball has another hash, with a message of one line
 */
export async function fetchPackage(wanted: FetchedPackage, signal?: AbortSignal, folder = packages): Promise<void> {
  const home = homeOf(wanted, folder);
  if (existsSync(home)) return;
  mkdirSync(folder, { recursive: true });
  const staging = mkdtempSync(`${home}-unfinished-`);
  try {
    const options = { cwd: staging, timeout: FETCH_TIMEOUT_MS, signal, killSignal: 'SIGKILL' } as const;
    // Uses a separate cache, because the default one may belong to another user or be read-only.
    const npm = ['pack', `${wanted.name}@${wanted.version}`, `--cache=${join(staging, 'cache')}`, ...shortRetries, '--loglevel=error'];
    await run('npm', npm, options);
    const tarball = readdirSync(staging).find((name) => name.endsWith('.tgz')) ?? '';
    const integrity = `sha512-${hash('sha512', readFileSync(join(staging, tarball)), 'base64')}`;
    if (integrity !== wanted.integrity) throw new Error(`its integrity is ${integrity} instead of ${wanted.integrity}`);
    await run('tar', ['--extract', '--gzip', '--no-same-owner', '--file', tarball], options);
    // A concurrent run may have created the folder.
    if (!existsSync(home)) renameSync(join(staging, 'package'), home);
  } catch (error) {
    throw new Error(`${wanted.name} ${wanted.version} cannot be fetched: ${(error as Error).message}`, { cause: error });
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** npm's default retries take minutes, with 10 s before the second attempt. */
const shortRetries = ['--fetch-retries=2', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=3000'];

/** Timeout for 30 KB over a slow proxy. */
const FETCH_TIMEOUT_MS = 30_000;

function homeOf({ name, version }: FetchedPackage, folder: string): string {
  return join(folder, `${name.replace(/^@/, '').replace('/', '-')}-${version}`);
}

async function run(command: string, args: readonly string[], options: { readonly timeout: number }): Promise<void> {
  try {
    await promisify(execFile)(command, args, options);
  } catch (error) {
    const { killed = false, stderr = '', message } = error as Error & { killed?: boolean; stderr?: string };
    if (killed) throw new Error(`${command} took longer than ${options.timeout / 1000} s`, { cause: error });
    // npm prints the code and the system call of an error first, each in its own line. They are skipped.
    const reason = /^(?:npm (?:error|ERR!) (?!code|errno|syscall|type)|tar: )(.+)$/m.exec(stderr)?.[1];
    throw new Error(`${command}: ${reason?.trim() ?? message.split('\n')[0]}`, { cause: error });
  }
}
