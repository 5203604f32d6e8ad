import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { clientModule } from './client-module.ts';
import { CACHED } from '../documents/documents.ts';
import { editionOf, madeOnce, sendEdition, SENDS_EDITION } from '../edition.ts';

const edition = madeOnce(() => editionOf(clientModule()));

export const clientLibrary = endpoint({
  method: 'GET',
  path: '/client.js',
  operationId: 'getClientLibrary',
  caller: 'none',
  summary: 'The client library, a JavaScript module for pages without a build.',
  description:
    'A page of any origin may import it: `import { coinop } from "…/client.js"`. The calls that it makes are subject to ' +
    'ALLOWED_ORIGINS like any others. A request with the `ETag` of an earlier reply in `If-None-Match` gets 304 while the module is unchanged.',
  ...SENDS_EDITION,
  reply: z.object({}),
  mediaType: 'text/javascript; charset=utf-8',
  anyOrigin: true,
  example: `curl -s $base/client.js`,
  handle: async ({ meta }) => sendEdition(await edition(), meta, [CACHED]),
});
