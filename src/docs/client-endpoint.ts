import { hash } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import { Encoded, EncodedBytes, Reply } from '../server/http/endpoint.ts';
import { endpoint } from '../declare.ts';
import { CACHED } from './documents.ts';

interface Edition {
  readonly tag: string;
  readonly plain: Encoded;
  readonly gzipped: Encoded;
}

/** Made at the first request, because most processes never serve it. */
let edition: Promise<Edition> | undefined;

/** In a thread of its own: it takes 30 ms, and half a second where the files are not in memory. Other requests must not wait. */
async function makeEdition(): Promise<Edition> {
  const worker = new Worker(new URL('client-module-worker.ts', import.meta.url));
  const [text] = (await once(worker, 'message')) as [string];
  return {
    tag: hash('sha256', text, 'base64url').slice(0, 16),
    plain: new Encoded(text),
    gzipped: new EncodedBytes(gzipSync(text, { level: 9 })),
  };
}

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
  async handle({ meta }) {
    const { tag, plain, gzipped } = await (edition ??= makeEdition().catch((error: unknown) => {
      edition = undefined;
      throw error;
    }));
    const isGzipped = /\bgzip\b(?!\s*;\s*q=0)/.test(meta.acceptEncoding);
    const headers = [['etag', isGzipped ? `"${tag}-gzip"` : `"${tag}"`] as const, CACHED, ['vary', 'Accept-Encoding'] as const];
    if (meta.ifNoneMatch.includes(tag)) return new Reply(new Encoded(''), { status: 304, headers });
    return isGzipped ? new Reply(gzipped, { headers: [...headers, ['content-encoding', 'gzip']] }) : new Reply(plain, { headers });
  },
});
