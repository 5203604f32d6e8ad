import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('..', import.meta.url));

/** A fenced block of a page. */
export interface Sample {
  /** The page and the line of the fence: `docs/client.md:7`. */
  readonly place: string;
  readonly language: string;
  readonly text: string;
}

/** The blocks of a page that name a language. A block of a list loses its indentation. */
export function samplesOf(page: string): Sample[] {
  const text = readFileSync(join(project, page), 'utf8');
  return [...text.matchAll(/^( *)```(\w+)\n([\s\S]*?)^\1```$/gm)].map((found) => ({
    place: `${page}:${text.slice(0, found.index).split('\n').length}`,
    language: found[2]!,
    text: found[3]!.replaceAll(new RegExp(`^${found[1]}`, 'gm'), ''),
  }));
}
