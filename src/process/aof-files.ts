import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The names of Redis's append-only files in its folder, with their sizes in bytes. */
export function aofSizes(folder: string): Map<string, number> {
  const place = join(folder, 'appendonlydir');
  try {
    return new Map(readdirSync(place).map((name) => [name, statSync(join(place, name)).size]));
  } catch {
    // The first start makes the folder.
    return new Map();
  }
}

/** The end of a file that Redis drops at its start, because it was cut in the middle of a write (aof-load-truncated). */
export interface CutTail {
  readonly file: string;
  readonly offset: number;
  /** Undefined: the size before the start is not known. */
  readonly bytes: number | undefined;
}

/** @param line of Redis's log. @param sizes before its start. @returns undefined for any other line */
export function cutTailOf(line: string, sizes: ReadonlyMap<string, number>): CutTail | undefined {
  const [, file, at] = /Truncating the AOF (?:file )?(\S+) at offset (\d+)/.exec(line) ?? [];
  if (file === undefined) return undefined;
  const [offset, size] = [Number(at), sizes.get(file)];
  return { file, offset, bytes: size === undefined ? undefined : size - offset };
}
