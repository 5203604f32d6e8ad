import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = new URL('../../', import.meta.url).pathname;

const GUARD = /^const IS_HERE = `local function is_here\(key\)$[\s\S]*?^end`;$/m;

/**
 * Copies the service without its guard of moving slots: every slot counts as served by the node. The guard is proved if the checks find
 * the damage of this copy.
 * @returns the copy's main.ts
 */
export function copyUnguarded(folder: string): string {
  const main = copyService(folder);
  const file = join(folder, 'src/redis/script-text.ts');
  const text = readFileSync(file, 'utf8');
  const unguarded = text.replace(GUARD, 'const IS_HERE = `local function is_here() return true end`;');
  if (unguarded === text) throw new Error('src/redis/script-text.ts has no guard of the known form to take out');
  writeFileSync(file, unguarded);
  return main;
}

/** A text in a file of the service, and its replacement in a copy. */
export interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** Copies the service with changes, for a proof. @returns the copy's main.ts */
export function copyService(folder: string, changes: readonly Change[] = []): string {
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, 'src'), join(folder, 'src'), { recursive: true });
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  for (const name of ['node_modules', '.cache']) if (existsSync(join(root, name))) symlinkSync(join(root, name), join(folder, name));
  for (const { file, from, to } of changes) {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    if (!text.includes(from)) throw new Error(`${file} has no "${from}" to replace`);
    writeFileSync(path, text.replace(from, to));
  }
  return join(folder, 'src/main.ts');
}
