import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../arguments.ts';

/** A commit laid out as files that can be started. */
export interface Checkout {
  readonly folder: string;
  /** Its full name. */
  readonly commit: string;
  remove(): void;
}

const OWN_CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Lays a commit out in a temporary folder. It shares the working tree's packages where package-lock.json is the same, else it
 * has its own.
 * @throws UsageError where there is no such commit
 */
export async function layOut(name: string, signal: AbortSignal): Promise<Checkout> {
  const commit = nameOf(name);
  const folder = mkdtempSync(join(tmpdir(), 'coinop-compare-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const tree = join(folder, 'tree');
    mkdirSync(tree);
    const archive = join(folder, 'tree.tar');
    git('archive', '--output', archive, commit);
    need(spawnSync('tar', ['-xf', archive, '-C', tree], { encoding: 'utf8' }), 'tar');
    rmSync(archive);
    await bringPackages(tree, signal);
    // A Redis that set-up unpacked.
    if (existsSync(join(OWN_CHECKOUT, '.cache'))) symlinkSync(join(OWN_CHECKOUT, '.cache'), join(tree, '.cache'));
    return { folder: tree, commit, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function nameOf(name: string): string {
  const found = spawnSync('git', ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`], {
    cwd: OWN_CHECKOUT,
    encoding: 'utf8',
  });
  if (found.status === 0) return found.stdout.trim();
  if (found.error !== undefined) throw new UsageError('--compare needs git, and there is none on the PATH');
  throw new UsageError(`--compare "${name}": ${OWN_CHECKOUT} has no such commit`);
}

function git(...args: readonly string[]): string {
  return need(spawnSync('git', args, { cwd: OWN_CHECKOUT, encoding: 'utf8' }), 'git');
}

function need({ status, stdout, stderr, error }: ReturnType<typeof spawnSync>, name: string): string {
  if (status === 0) return String(stdout);
  throw new Error(`${name} failed: ${error?.message ?? String(stderr).trim()}`);
}

async function bringPackages(tree: string, signal: AbortSignal): Promise<void> {
  const lock = (folder: string): string => readFileSync(join(folder, 'package-lock.json'), 'utf8');
  if (lock(tree) === lock(OWN_CHECKOUT)) return symlinkSync(join(OWN_CHECKOUT, 'node_modules'), join(tree, 'node_modules'));
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
  if (code !== 0) throw new Error(`npm ci of that commit's packages failed: ${said.trim().slice(-1000)}`);
}
