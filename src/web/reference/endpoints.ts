import { z } from 'zod';
import type { Config } from '../../config.ts';
import { endpoint, type Services } from '../../declare.ts';
import type { Endpoint } from '../../server/http/endpoint.ts';
import { CACHED, type Docs } from '../documents/documents.ts';
import { sendEdition, SENDS_EDITION } from '../edition.ts';
import { HTML, pageHeaders } from '../layout.ts';

const PAGE = [CACHED, ...pageHeaders()];

interface DocsPage {
  readonly path: string;
  readonly name: 'reference' | 'channels' | 'errors';
  readonly operationId: string;
  readonly summary: string;
}

/** A page below /docs. */
function docsPage({ path, name, operationId, summary }: DocsPage): (docs: (config: Config) => Docs) => Endpoint<Pick<Services, 'config'>> {
  return (docs) =>
    endpoint({
      method: 'GET',
      path,
      operationId,
      caller: 'none',
      summary,
      ...SENDS_EDITION,
      reply: z.object({}),
      mediaType: HTML,
      example: `curl -s $base${path}`,
      handle: async ({ meta }, { config }: Pick<Services, 'config'>) => sendEdition((await docs(config).pages()).get(name)!, meta, PAGE),
    });
}

export const referenceDocs = docsPage({
  path: '/docs',
  name: 'reference',
  operationId: 'getReferencePage',
  summary: 'The API reference as an HTML page, with a search and a form to try each endpoint.',
});

export const channelsDocs = docsPage({
  path: '/docs/channels',
  name: 'channels',
  operationId: 'getChannelsPage',
  summary: 'The live channels and their messages as an HTML page.',
});

export const errorsDocs = docsPage({
  path: '/docs/errors',
  name: 'errors',
  operationId: 'getErrorsPage',
  summary: 'Every error code as an HTML page: what it means, and what to do about it.',
});
