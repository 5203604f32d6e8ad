import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { endpoint } from '../declare.ts';
import { CACHED } from './documents.ts';
import { editionOf, madeOnce, sendEdition } from '../pages/edition.ts';

/**
 * Made at the first request, because most processes never serve it. In a thread of its own: it takes 30 ms, and half a second where
 * the files are not in memory. Other requests must not wait.
 */
const edition = madeOnce(async () => {
  const worker = new Worker(new URL('client-module-worker.ts', import.meta.url));
  const [text] = (await once(worker, 'message')) as [string];
  return editionOf(text);
});

export const clientLibrary = endpoint({
  method: 'GET',
  path: '/client.js',
  operationId: 'getClientLibrary',
  caller: 'none',
  summary: 'The client library, a JavaScript module for pages without a build.',
  description:
    'A page of any origin may import it: `import { coinop } from "…/client.js"`. The calls that it makes are subject to ' +
    'ALLOWED_ORIGINS like any others. A request with the `ETag` of an earlier reply in `If-None-Match` gets 304 while the module is unchanged.',
  headers: { 'if-none-match': 'The ETag of an earlier reply.' },
  reply: z.object({}),
  mediaType: 'text/javascript; charset=utf-8',
  anyOrigin: true,
  example: `curl -s $base/client.js`,
  handle: async ({ meta }) => sendEdition(await edition(), meta, [CACHED]),
});
