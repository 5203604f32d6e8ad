import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { refuse } from '../../errors.ts';
import type { RequestMeta } from '../../server/http/endpoint.ts';
import { CACHED } from '../documents/served-documents.ts';
import { sendEdition, SENDS_EDITION } from '../encoded-text.ts';
import { HTML, pageHeaders } from '../layout.ts';
import { textEndpoint, type DocsServices } from '../text-endpoint.ts';

const TEXT = 'text/plain; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';

function docsPage<const Path extends string>(path: Path, operationId: string, summary: string, mediaType = HTML) {
  const headers = [CACHED, ...(mediaType === HTML ? pageHeaders() : [])];
  return textEndpoint({ path, operationId, summary, mediaType }, headers, async ({ docs }) => (await docs().pages()).get(path)!);
}

export const startDocs = docsPage('/docs', 'getDocsPage', 'The start page of the documentation as an HTML page, with every call.');

export const channelsDocs = docsPage('/docs/channels', 'getChannelsPage', 'The live channels and their messages as an HTML page.');

export const errorsDocs = docsPage(
  '/docs/errors',
  'getErrorsPage',
  'Every error code as an HTML page: its meaning, and what the caller can do about it.',
);

export const searchedDocs = docsPage(
  '/docs/search.json',
  'getDocsIndex',
  'The text of all pages, for their search.',
  'application/json; charset=utf-8',
);

export const docsForModels = docsPage('/llms.txt', 'getDocsForModels', 'The list of all guides for language models (llmstxt.org).', TEXT);

/** Answers with a page or a file, whose media type follows from its name. */
async function answer(path: string, { docs }: DocsServices, meta: RequestMeta) {
  const edition = (await docs().pages()).get(path);
  if (edition === undefined) return refuse('not_found');
  const ending = /\.\w+$/.exec(path)?.[0];
  if (ending === undefined) return sendEdition(edition, meta, [CACHED, ...pageHeaders()]);
  return sendEdition(edition, meta, [CACHED], ending === '.md' ? MARKDOWN : TEXT);
}

const NOT_FOUND = 'Without such a page a client that accepts `text/html` gets 404 with a page for people in place of the error.';

const name = z.string().meta({ description: 'Its name: `client`, or `client.md` for its Markdown.', example: 'client' });

export const guideDocs = endpoint({
  method: 'GET',
  path: '/docs/{page}',
  operationId: 'getGuide',
  caller: 'none',
  summary: 'A guide as an HTML page, or as Markdown.',
  description: NOT_FOUND,
  ...SENDS_EDITION,
  params: z.object({ page: name }),
  reply: z.object({}),
  mediaType: HTML,
  otherMediaTypes: [MARKDOWN],
  errors: ['not_found'],
  example: `curl -s $base/docs/client.md`,
  handle: ({ params: { page }, meta }, services: DocsServices) => answer(`/docs/${page}`, services, meta),
});

export const folderDocs = endpoint({
  method: 'GET',
  path: '/docs/{folder}/{page}',
  operationId: 'getGuideInFolder',
  caller: 'none',
  summary: 'The page of a feature with its calls, another guide, or a sample that guides name.',
  description: NOT_FOUND,
  ...SENDS_EDITION,
  params: z.object({
    folder: z.string().meta({ description: '`reference`, `clients`, `operations` or `examples`.', example: 'reference' }),
    page: name.meta({ description: 'Its name: `coins`, or `coins.md` for its Markdown.', example: 'coins' }),
  }),
  reply: z.object({}),
  mediaType: HTML,
  otherMediaTypes: [MARKDOWN, TEXT],
  errors: ['not_found'],
  example: `curl -s $base/docs/reference/coins`,
  handle: ({ params: { folder, page }, meta }, services: DocsServices) => answer(`/docs/${folder}/${page}`, services, meta),
});
