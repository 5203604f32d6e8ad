import { CACHED } from '../documents/served-documents.ts';
import { editionOf, madeOnce } from '../edition.ts';
import { textEndpoint } from '../text-endpoint.ts';
import { clientModule } from './client-module.ts';

export const clientLibrary = textEndpoint(
  {
    path: '/client.js',
    operationId: 'getClientLibrary',
    summary: 'The client library, a JavaScript module for pages without a build.',
    description:
      'A page of any origin may import it: `import { coinop } from "…/client.js"`. The calls that it makes are subject to ' +
      'ALLOWED_ORIGINS like any others. A request with the `ETag` of an earlier reply in `If-None-Match` gets 304 while the module is unchanged.',
    mediaType: 'text/javascript; charset=utf-8',
    anyOrigin: true,
  },
  [CACHED],
  madeOnce(() => editionOf(clientModule())),
);
