import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { roomsModule } from './client-module.ts';
import { CACHED } from '../documents/documents.ts';
import { editionOf, madeOnce, sendEdition, SENDS_EDITION } from '../edition.ts';

const edition = madeOnce(() => editionOf(roomsModule()));

export const roomsLibrary = endpoint({
  method: 'GET',
  path: '/rooms.js',
  operationId: 'getRoomsLibrary',
  caller: 'none',
  summary: 'The part of the client library that plays in rooms, a JavaScript module beside `/client.js`.',
  description:
    'A page of any origin may import it: `import { playRoom } from "…/rooms.js"`. A request with the `ETag` of an earlier reply in ' +
    '`If-None-Match` gets 304 while the module is unchanged.',
  ...SENDS_EDITION,
  reply: z.object({}),
  mediaType: 'text/javascript; charset=utf-8',
  anyOrigin: true,
  example: `curl -s $base/rooms.js`,
  handle: async ({ meta }) => sendEdition(await edition(), meta, [CACHED]),
});
