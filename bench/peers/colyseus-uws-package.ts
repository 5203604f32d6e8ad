import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

/** A package that `npm ci` does not install: one tarball of npm's registry. */
export interface FetchedPackage {
  readonly name: string;
  readonly version: string;
  /** As package-lock.json would have it: `sha512-` and the hash of the tarball in base64. */
  readonly integrity: string;
}

/**
 * Colyseus's transport on uWebSockets.js, which it takes from GitHub. An override in package.json could give it the build
 * from npm instead, but npm 9.2, which is Debian 12's and 13's, compares the override's range with the address at GitHub as
 * if both were versions: its `npm ci` ends with "Invalid comparator".
 */
export const uwsTransportPackage: FetchedPackage = {
  name: '@colyseus/uwebsockets-transport',
  version: '0.18.2',
  integrity: 'sha512-tsYoAQ4chVtvKwaGSk394WsIoklq4cZbKX0mWvyvEzY3eBnS9+A3n2Aub4NOqgy3Ntp6qfYNLnjypoR+OA2ogw==',
};

/** Inside the project, so that what a package imports is found in the project's node_modules. */
const packages = fileURLToPath(new URL('../../.cache/bench', import.meta.url));

/** The URL by which a file of a fetched package is imported. */
export function urlOf(wanted: FetchedPackage, path: string, folder = packages): string {
  return pathToFileURL(join(homeOf(wanted, folder), path)).href;
}

/**
 * Fetches and unpacks a package where it is not there yet. It gets its name last, so a run cut short leaves nothing that
 * looks finished.
 * @throws where it cannot be fetched or is not the one asked for, with the reason in a line
 */
export async function bringPackage(wanted: FetchedPackage, signal?: AbortSignal, folder = packages): Promise<void> {
  const home = homeOf(wanted, folder);
  if (existsSync(home)) return;
  mkdirSync(folder, { recursive: true });
  const aside = mkdtempSync(`${home}-unfinished-`);
  try {
    const options = { cwd: aside, timeout: PATIENCE_MS, signal, killSignal: 'SIGKILL' } as const;
    // In a cache of its own: the user's may be another user's or read-only.
    const npm = ['pack', `${wanted.name}@${wanted.version}`, `--cache=${join(aside, 'cache')}`, ...brisk, '--loglevel=error'];
    await run('npm', npm, options);
    const tarball = readdirSync(aside).find((name) => name.endsWith('.tgz')) ?? '';
    const integrity = `sha512-${hash('sha512', readFileSync(join(aside, tarball)), 'base64')}`;
    if (integrity !== wanted.integrity) throw new Error(`its integrity is ${integrity} instead of ${wanted.integrity}`);
    await run('tar', ['--extract', '--gzip', '--no-same-owner', '--file', tarball], options);
    // Another run may have been quicker.
    if (!existsSync(home)) renameSync(join(aside, 'package'), home);
  } catch (error) {
    throw new Error(`${wanted.name} ${wanted.version} cannot be fetched: ${(error as Error).message}`, { cause: error });
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/** npm's own patience is minutes, with 10 s before its second try. */
const brisk = ['--fetch-retries=2', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=3000'];

/** For 30 KB over a slow proxy. */
const PATIENCE_MS = 30_000;

function homeOf({ name, version }: FetchedPackage, folder: string): string {
  return join(folder, `${name.replace(/^@/, '').replace('/', '-')}-${version}`);
}

async function run(command: string, args: readonly string[], options: { readonly timeout: number }): Promise<void> {
  try {
    await promisify(execFile)(command, args, options);
  } catch (error) {
    const { killed = false, stderr = '', message } = error as Error & { killed?: boolean; stderr?: string };
    if (killed) throw new Error(`${command} took longer than ${options.timeout / 1000} s`, { cause: error });
    // npm tells its error's code and system call first, each in a line.
    const reason = /^(?:npm (?:error|ERR!) (?!code|errno|syscall|type)|tar: )(.+)$/m.exec(stderr)?.[1];
    throw new Error(`${command}: ${reason?.trim() ?? message.split('\n')[0]}`, { cause: error });
  }
}
