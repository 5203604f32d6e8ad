import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How many digits of a hash a revision has: enough to identify one commit of a project. */
const DIGITS = 12;

/**
 * The text that identifies a build more closely than its version: the commit of a checkout, or else `src-` and the hash that git gives to
 * the folder `src`. So `git rev-parse <commit>:src` tells whether an image without `.git` was built from a commit. Only the form with
 * `src-` reflects changes that were not committed.
 * @param root the folder of the project
 */
export function revisionOf(root: string): string {
  const commit = commitOf(root);
  if (commit !== undefined) return commit.slice(0, DIGITS);
  return `src-${(treeHash(join(root, 'src')) ?? EMPTY).toString('hex').slice(0, DIGITS)}`;
}

/**
 * The commit of a checkout. Undefined if the folder is not a checkout, or stores its refs in a form that this function does not read. To
 * start git would cost some 5 ms.
 */
function commitOf(root: string): string | undefined {
  const gitDir = gitDirOf(root);
  const head = gitDir === undefined ? undefined : textOf(join(gitDir, 'HEAD'));
  if (gitDir === undefined || head === undefined) return undefined;
  if (HASH.test(head)) return head;
  const ref = /^ref: (refs\/\S+)$/.exec(head)?.[1];
  if (ref === undefined) return undefined;
  // In an additional work tree the branches are in the `.git` folder of the main work tree.
  const common = resolve(gitDir, textOf(join(gitDir, 'commondir')) ?? '.');
  const packed = textOf(join(common, 'packed-refs')) ?? '';
  const commit =
    textOf(join(common, ref)) ??
    packed
      .split('\n')
      .find((line) => line.endsWith(` ${ref}`))
      ?.split(' ')[0];
  return commit !== undefined && HASH.test(commit) ? commit : undefined;
}

/** The `.git` folder of a checkout. In an additional work tree `.git` is a file that names the folder. */
function gitDirOf(root: string): string | undefined {
  const dotGit = join(root, '.git');
  if (textOf(join(dotGit, 'HEAD')) !== undefined) return dotGit;
  const named = /^gitdir: (.+)$/.exec(textOf(dotGit) ?? '')?.[1];
  return named === undefined ? undefined : resolve(root, named);
}

const HASH = /^(?:[\da-f]{40}|[\da-f]{64})$/;

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/**
 * The hash that git gives to a folder (a tree object). All files are treated as plain ones, because copying may change their modes.
 * Undefined for an empty folder.
 */
function treeHash(folder: string): Buffer | undefined {
  const entries: { order: string; entry: Buffer }[] = [];
  for (const child of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, child.name);
    const isFolder = child.isDirectory();
    const hash = isFolder ? treeHash(path) : objectHash('blob', readFileSync(path));
    if (hash === undefined) continue;
    // git sorts a folder as if its name ended with a slash.
    const order = isFolder ? `${child.name}/` : child.name;
    entries.push({ order, entry: Buffer.concat([Buffer.from(`${isFolder ? '40000' : '100644'} ${child.name}\0`), hash]) });
  }
  if (entries.length === 0) return undefined;
  const sorted = entries.toSorted((one, other) => (one.order < other.order ? -1 : 1));
  return objectHash('tree', Buffer.concat(sorted.map(({ entry }) => entry)));
}

function objectHash(kind: 'blob' | 'tree', content: Buffer): Buffer {
  return createHash('sha1').update(`${kind} ${content.length}\0`).update(content).digest();
}

const EMPTY = Buffer.alloc(20);

/** The revision of the running build. */
export const revision = revisionOf(fileURLToPath(new URL('../..', import.meta.url)));
