import { CACHED } from '../documents/served-documents.ts';
import { editionOf, madeOnce } from '../edition.ts';
import { textEndpoint } from '../text-endpoint.ts';
import { roomsModule } from './client-module.ts';

export const roomsLibrary = textEndpoint(
  {
    path: '/rooms.js',
    operationId: 'getRoomsLibrary',
    summary: 'The part of the client library that plays in rooms, a JavaScript module beside `/client.js`.',
    description:
      'A page of any origin may import it: `import { playRoom } from "…/rooms.js"`. A request with the `ETag` of an earlier reply in ' +
      '`If-None-Match` gets 304 while the module is unchanged.',
    mediaType: 'text/javascript; charset=utf-8',
    anyOrigin: true,
  },
  [CACHED],
  madeOnce(() => editionOf(roomsModule())),
);
