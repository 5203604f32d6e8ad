import { readFile } from 'node:fs/promises';
import { editionOf, madeOnce, type Edition } from '../encoded-text.ts';

/** Gives a style sheet as browsers get it. */
export type StyleSheet = () => Promise<Edition>;

/** Reads a style sheet, and leaves out its comments: they are for readers of the source. */
export function styleSheet(file: URL): StyleSheet {
  return madeOnce(async () => editionOf((await readFile(file, 'utf8')).replace(/\/\*[^]*?\*\/\s*/g, '')));
}
