import { CACHED } from '../documents/served-documents.ts';
import { editionOf, madeOnce } from '../edition.ts';
import { textEndpoint } from '../text-endpoint.ts';
import { savesModule } from './client-module.ts';

export const savesLibrary = textEndpoint(
  {
    path: '/saves.js',
    operationId: 'getSavesLibrary',
    summary: 'The part of the client library that keeps saves, a JavaScript module beside `/client.js`.',
    description:
      'A page of any origin may import it: `import { savesOf } from "…/saves.js"`. A request with the `ETag` of an earlier reply in ' +
      '`If-None-Match` gets 304 while the module is unchanged.',
    mediaType: 'text/javascript; charset=utf-8',
    anyOrigin: true,
  },
  [CACHED],
  madeOnce(() => editionOf(savesModule())),
);
