import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import { ASKED_EACH_TIME, sendEdition, SENDS_EDITION } from '../encoded-text.ts';
import { textEndpoint } from '../text-endpoint.ts';
import { styleSheet } from './style-sheet.ts';

const CSS = 'text/css; charset=utf-8';

/** The style sheet that every page loads first. It is a separate file, so that a browser can reuse it on the next page. */
export const pagesStyle = textEndpoint(
  { path: '/pages/style.css', operationId: 'getPageStyle', summary: 'The style sheet of all HTML pages.', mediaType: CSS },
  ASKED_EACH_TIME,
  styleSheet(new URL('primitives.css', import.meta.url)),
);

export const docsStyle = textEndpoint(
  { path: '/docs/style.css', operationId: 'getDocsStyle', summary: 'The style sheet of the pages below /docs.', mediaType: CSS },
  ASKED_EACH_TIME,
  styleSheet(new URL('reference.css', import.meta.url)),
);

/** The style sheets that only one page outside of /docs uses, by name. */
const ownSheets = new Map([
  ['home.css', styleSheet(new URL('home.css', import.meta.url))],
  ['pairing.css', styleSheet(new URL('pairing.css', import.meta.url))],
  ['console.css', styleSheet(new URL('console.css', import.meta.url))],
]);

export const ownStyle = endpoint({
  method: 'GET',
  path: '/pages/styles/{name}',
  operationId: 'getOwnStyle',
  caller: 'none',
  summary: 'The style sheet of a single HTML page.',
  ...SENDS_EDITION,
  params: z.object({ name: z.string().meta({ description: 'Its name: `home.css`.', example: 'home.css' }) }),
  reply: z.object({}),
  mediaType: CSS,
  errors: ['not_found'],
  example: `curl -s $base/pages/styles/home.css`,
  async handle({ params: { name }, meta }, { playground }: Pick<Services, 'playground'>) {
    const sheet = name === 'playground.css' ? playground?.style : ownSheets.get(name);
    return sheet === undefined ? refuse('not_found') : sendEdition(await sheet(), meta, ASKED_EACH_TIME);
  },
});
