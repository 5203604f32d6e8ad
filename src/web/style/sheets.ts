import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { ASKED_EACH_TIME, editionOf, madeOnce, sendEdition, SENDS_EDITION } from '../edition.ts';

const textOf = (file: string): Promise<string> => readFile(new URL(file, import.meta.url), 'utf8');

interface StyleSheet {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  /** The rules after those of shared.css. */
  readonly own: 'pages.css' | 'reference.css';
}

/** One file a page, because a sheet that imports another one is shown a round trip later. Comments are for readers of the source. */
function styleSheet({ path, operationId, summary, own }: StyleSheet) {
  const edition = madeOnce(async () => {
    const texts = await Promise.all(['shared.css', own].map(textOf));
    return editionOf(texts.join('').replace(/\/\*[^]*?\*\/\s*/g, ''));
  });
  return endpoint({
    method: 'GET',
    path,
    operationId,
    caller: 'none',
    summary,
    ...SENDS_EDITION,
    reply: z.object({}),
    mediaType: 'text/css; charset=utf-8',
    example: `curl -s $base${path}`,
    handle: async ({ meta }) => sendEdition(await edition(), meta, ASKED_EACH_TIME),
  });
}

export const pagesStyle = styleSheet({
  path: '/pages/style.css',
  operationId: 'getPageStyle',
  summary: 'The style sheet of the HTML pages.',
  own: 'pages.css',
});

export const docsStyle = styleSheet({
  path: '/docs/style.css',
  operationId: 'getDocsStyle',
  summary: 'The style sheet of the pages below /docs.',
  own: 'reference.css',
});
