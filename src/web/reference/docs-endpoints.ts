import { CACHED } from '../documents/served-documents.ts';
import { textEndpoint } from '../text-endpoint.ts';
import { HTML, pageHeaders } from '../layout.ts';

interface DocsPage<Path extends string> {
  readonly path: Path;
  readonly name: 'reference' | 'channels' | 'errors';
  readonly operationId: string;
  readonly summary: string;
}

function docsPage<const Path extends string>({ name, ...page }: DocsPage<Path>) {
  return textEndpoint({ ...page, mediaType: HTML }, [CACHED, ...pageHeaders()], async ({ docs }) => (await docs().pages()).get(name)!);
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
