import { readFile } from 'node:fs/promises';
import { editionOf, madeOnce, type Edition } from '../edition.ts';

/** Gives a style sheet as browsers get it. */
export type StyleSheet = () => Promise<Edition>;

/** Reads a style sheet, and leaves out its comments: they are for readers of the source. */
export function styleSheet(file: URL): StyleSheet {
  return madeOnce(async () => editionOf((await readFile(file, 'utf8')).replace(/\/\*[^]*?\*\/\s*/g, '')));
}
