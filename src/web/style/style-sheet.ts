import { readFile } from 'node:fs/promises';
import { editionOf, madeOnce, type Edition } from '../edition.ts';

/** A style sheet as browsers get it. */
export type StyleSheet = () => Promise<Edition>;

/** Comments are left out: they are for readers of the source. */
export function styleSheet(file: URL): StyleSheet {
  return madeOnce(async () => editionOf((await readFile(file, 'utf8')).replace(/\/\*[^]*?\*\/\s*/g, '')));
}
