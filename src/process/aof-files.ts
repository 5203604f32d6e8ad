import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The names of Redis's append-only files in its folder, with their sizes in bytes. */
export function aofSizes(folder: string): Map<string, number> {
  const place = join(folder, 'appendonlydir');
  try {
    return new Map(readdirSync(place).map((name) => [name, statSync(join(place, name)).size]));
  } catch {
    // Before the first start of Redis the folder does not exist.
    return new Map();
  }
}

/**
 * The end of an append-only file that Redis drops at its start because a crash cut the last write off in the middle (aof-load-truncated).
 */
export interface CutTail {
  readonly file: string;
  readonly offset: number;
  /** Number of dropped bytes. Undefined: the size of the file before the start is not known. */
  readonly bytes: number | undefined;
}

/**
 * Parses a line of Redis's log which says that Redis drops the end of a file. Undefined for any other line.
 * @param sizes of the files before the start
 */
export function cutTailOf(line: string, sizes: ReadonlyMap<string, number>): CutTail | undefined {
  const [, file, at] = /Truncating the AOF (?:file )?(\S+) at offset (\d+)/.exec(line) ?? [];
  if (file === undefined) return undefined;
  const [offset, size] = [Number(at), sizes.get(file)];
  return { file, offset, bytes: size === undefined ? undefined : size - offset };
}
