import { readFile } from 'node:fs/promises';
import { ASKED_EACH_TIME, editionOf, madeOnce } from '../edition.ts';
import { textEndpoint } from '../text-endpoint.ts';

const CSS = 'text/css; charset=utf-8';

export const pagesStyle = textEndpoint(
  { path: '/pages/style.css', operationId: 'getPageStyle', summary: 'The style sheet of the HTML pages.', mediaType: CSS },
  ASKED_EACH_TIME,
  sheet('pages.css'),
);

export const docsStyle = textEndpoint(
  { path: '/docs/style.css', operationId: 'getDocsStyle', summary: 'The style sheet of the pages below /docs.', mediaType: CSS },
  ASKED_EACH_TIME,
  sheet('reference.css'),
);

/**
 * The rules of shared.css, then those of the pages. One file for each page, because an import in a style sheet costs a further round trip.
 * Comments are left out: they are for readers of the source.
 */
function sheet(own: 'pages.css' | 'reference.css') {
  return madeOnce(async () => {
    const texts = await Promise.all(['shared.css', own].map((file) => readFile(new URL(file, import.meta.url), 'utf8')));
    return editionOf(texts.join('').replace(/\/\*[^]*?\*\/\s*/g, ''));
  });
}
