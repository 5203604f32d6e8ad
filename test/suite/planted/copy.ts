import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mistake } from './mistakes.ts';

export const PROJECT = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * A copy of the project in a temporary folder, in which mistakes are planted: a work tree of git, with the changes that are not committed
 * yet. It shares node_modules and .cache with the project.
 */
export class Copy {
  readonly folder: string;
  readonly #parent: string;

  /** @throws Error without git */
  constructor() {
    this.#parent = mkdtempSync(join(tmpdir(), 'coinop-planted-'));
    this.folder = join(this.#parent, 'tree');
    run('git', ['worktree', 'add', '--quiet', '--detach', this.folder, presentCommit()]);
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
    return times === 1 ? undefined : `${name}: ${file} has its text ${times} times`;
  }

  /** Plants a mistake. @returns what restores the file */
  plant({ file, before, after }: Mistake): () => void {
    const path = join(this.folder, file);
    const right = readFileSync(path, 'utf8');
    const write = (text: string): void => {
      writeFileSync(path, text);
      // The files of the client that pages download are bundles.
      if (file.startsWith('src/clients/javascript/')) run(process.execPath, ['scripts/build-client.mjs'], this.folder);
    };
    write(right.replace(before, () => after));
    return () => write(right);
  }

  remove(): void {
    // Processes of a run that was stopped may still write for a moment.
    rmSync(this.#parent, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    run('git', ['worktree', 'remove', '--force', this.folder]);
  }
}

/** HEAD, or a commit of HEAD and the changes of tracked files that are not committed. It belongs to no branch. */
function presentCommit(): string {
  const changed = run('git', ['-c', 'user.name=coinop', '-c', 'user.email=coinop@localhost', 'stash', 'create']).trim();
  return changed === '' ? run('git', ['rev-parse', 'HEAD']).trim() : changed;
}

function run(program: string, args: readonly string[], cwd = PROJECT): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(error?.message ?? stderr.trim());
}
