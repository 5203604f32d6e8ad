import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../arguments.ts';

/** The files of a commit in a temporary folder, ready to start. */
export interface Checkout {
  readonly folder: string;
  /** The full hash. */
  readonly commit: string;
  remove(): void;
}

const WORKING_TREE = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Exports a commit to a temporary folder. It shares the working tree's node_modules when package-lock.json is the same;
 * otherwise npm installs packages for it.
 * @throws UsageError when the commit does not exist or git is missing
 */
export async function exportCommit(name: string, signal: AbortSignal): Promise<Checkout> {
  const commit = commitIdOf(name);
  const folder = mkdtempSync(join(tmpdir(), 'coinop-compare-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const tree = join(folder, 'tree');
    mkdirSync(tree);
    const archive = join(folder, 'tree.tar');
    git('archive', '--output', archive, commit);
    outputOf(spawnSync('tar', ['-xf', archive, '-C', tree], { encoding: 'utf8' }), 'tar');
    rmSync(archive);
    await providePackages(tree, signal);
    // .cache holds the Redis that set-up unpacked.
    if (existsSync(join(WORKING_TREE, '.cache'))) symlinkSync(join(WORKING_TREE, '.cache'), join(tree, '.cache'));
    return { folder: tree, commit, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function commitIdOf(name: string): string {
  const found = spawnSync('git', ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`], {
    cwd: WORKING_TREE,
    encoding: 'utf8',
  });
  if (found.status === 0) return found.stdout.trim();
  if (found.error !== undefined) throw new UsageError('--compare needs git, and there is none on the PATH');
  throw new UsageError(`--compare "${name}": ${WORKING_TREE} has no such commit`);
}

function git(...args: readonly string[]): string {
  return outputOf(spawnSync('git', args, { cwd: WORKING_TREE, encoding: 'utf8' }), 'git');
}

function outputOf({ status, stdout, stderr, error }: ReturnType<typeof spawnSync>, name: string): string {
  if (status === 0) return String(stdout);
  throw new Error(`${name} failed: ${error?.message ?? String(stderr).trim()}`);
}

async function providePackages(tree: string, signal: AbortSignal): Promise<void> {
  const lock = (folder: string): string => readFileSync(join(folder, 'package-lock.json'), 'utf8');
  if (lock(tree) === lock(WORKING_TREE)) return symlinkSync(join(WORKING_TREE, 'node_modules'), join(tree, 'node_modules'));
  const npm = spawn('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: tree,
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  });
  let said = '';
  npm.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const code = await new Promise((resolve, reject) => {
    npm.once('error', reject);
    npm.once('close', resolve);
  });
  if (code !== 0) throw new Error(`npm ci failed for the packages of the commit: ${said.trim().slice(-1000)}`);
}
