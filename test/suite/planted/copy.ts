import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mistake } from './mistakes.ts';

export const PROJECT = fileURLToPath(new URL('../../..', import.meta.url));

/** The files of the client that pages download are bundles of these. */
const CLIENT = 'src/client/';
const BUNDLES = 'src/web/client/bundle';

/**
 * A copy of the project in a temporary folder, in which mistakes are planted: a work tree of git, with the changes that are not committed
 * yet. It shares node_modules and .cache with the project.
 */
export class Copy {
  readonly folder: string;
  /** The commit of the copied files. */
  readonly commit: string;
  readonly #parent: string;

  /** @throws Error without git */
  constructor() {
    this.commit = presentCommit();
    this.#parent = mkdtempSync(join(tmpdir(), 'coinop-planted-'));
    this.folder = join(this.#parent, 'tree');
    git('worktree', 'add', '--quiet', '--detach', this.folder, this.commit);
    for (const name of ['node_modules', '.cache'])
      if (existsSync(join(PROJECT, name))) symlinkSync(join(PROJECT, name), join(this.folder, name));
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path));
  }

  /** Why a mistake cannot be planted. */
  problemOf({ name, file, before }: Mistake): string | undefined {
    if (!this.has(file)) return `${name}: there is no ${file}`;
    const times = readFileSync(join(this.folder, file), 'utf8').split(before).length - 1;
    return times === 1 ? undefined : `${name}: ${file} has its text ${times === 0 ? 'no longer' : `${times} times`}`;
  }

  /** Plants a mistake. @returns what restores the file */
  plant({ file, before, after }: Mistake): () => void {
    const path = join(this.folder, file);
    const right = readFileSync(path, 'utf8');
    writeFileSync(
      path,
      right.replace(before, () => after),
    );
    if (file.startsWith(CLIENT)) output(spawnSync(process.execPath, ['scripts/build-client.mjs'], { cwd: this.folder, encoding: 'utf8' }));
    return () => {
      writeFileSync(path, right);
      if (file.startsWith(CLIENT)) git('-C', this.folder, 'checkout', '--quiet', '--', BUNDLES);
    };
  }

  remove(): void {
    // Processes of a run that was stopped may still write for a moment.
    rmSync(this.#parent, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    git('worktree', 'remove', '--force', this.folder);
  }
}

/** The paths and hashes of the files of a commit, a line each. */
export function filesOf(commit: string): string[] {
  return git('ls-tree', '-r', commit).trim().split('\n');
}

/** HEAD, or a commit of HEAD and the changes of tracked files that are not committed. It belongs to no branch. */
export function presentCommit(): string {
  const changed = git('-c', 'user.name=coinop', '-c', 'user.email=coinop@localhost', 'stash', 'create').trim();
  return changed === '' ? git('rev-parse', 'HEAD').trim() : changed;
}

function git(...args: readonly string[]): string {
  return output(spawnSync('git', args, { cwd: PROJECT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }));
}

function output({ status, stdout, stderr, error }: ReturnType<typeof spawnSync>): string {
  if (status === 0) return String(stdout);
  throw new Error(error?.message ?? String(stderr).trim());
}
