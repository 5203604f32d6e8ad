import { hash } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import { endpoint } from '../declare.ts';
import { refuse } from '../errors.ts';
import { Encoded, EncodedBytes, Reply, type RequestMeta } from '../server/http/endpoint.ts';

/** The files of the pages, by name: `style.css`, `home.js`. */
type Assets = ReadonlyMap<string, Asset>;

interface Asset {
  readonly tag: string;
  readonly plain: Encoded;
  readonly gzipped: Encoded;
}

/** Made at the first request, because most processes never serve them. */
let assets: Promise<Assets> | undefined;

function allAssets(): Promise<Assets> {
  return (assets ??= makeAssets().catch((error: unknown) => {
    assets = undefined;
    throw error;
  }));
}

/** In a thread of its own: to strip the types takes tens of milliseconds, for which other requests would wait. */
async function makeAssets(): Promise<Assets> {
  const worker = new Worker(new URL('assets-worker.ts', import.meta.url));
  const [texts] = (await once(worker, 'message')) as [Record<string, string>];
  return new Map(
    Object.entries(texts).map(([name, text]) => [
      name,
      { tag: hash('sha256', text, 'base64url').slice(0, 16), plain: new Encoded(text), gzipped: new EncodedBytes(gzipSync(text)) },
    ]),
  );
}

/** `no-cache`: browsers keep a file and ask each time whether it changed, so that a page never mixes files of two versions. */
function send({ tag, plain, gzipped }: Asset, { acceptEncoding, ifNoneMatch }: RequestMeta): Reply<Encoded> {
  const isGzipped = /\bgzip\b(?!\s*;\s*q=0)/.test(acceptEncoding);
  const headers = [
    ['etag', isGzipped ? `"${tag}-gzip"` : `"${tag}"`],
    ['cache-control', 'no-cache'],
    ['vary', 'Accept-Encoding'],
  ] as const;
  if (ifNoneMatch.includes(tag)) return new Reply<Encoded>(new Encoded(''), { status: 304, headers });
  return isGzipped
    ? new Reply<Encoded>(gzipped, { headers: [...headers, ['content-encoding', 'gzip']] })
    : new Reply<Encoded>(plain, { headers });
}

const IF_NONE_MATCH = { 'if-none-match': 'The ETag of an earlier reply.' };

export const style = endpoint({
  method: 'GET',
  path: '/pages/style.css',
  operationId: 'getPageStyle',
  caller: 'none',
  summary: 'The style sheet of the HTML pages.',
  headers: IF_NONE_MATCH,
  reply: z.object({}),
  mediaType: 'text/css; charset=utf-8',
  example: `curl -s $base/pages/style.css`,
  handle: async ({ meta }) => send((await allAssets()).get('style.css')!, meta),
});

export const pageModule = endpoint({
  method: 'GET',
  path: '/pages/modules/{name}',
  operationId: 'getPageModule',
  caller: 'none',
  summary: 'A JavaScript module of the HTML pages.',
  headers: IF_NONE_MATCH,
  params: z.object({ name: z.string().meta({ description: 'Its name: `home.js`.', example: 'home.js' }) }),
  reply: z.object({}),
  mediaType: 'text/javascript; charset=utf-8',
  errors: ['not_found'],
  example: `curl -s $base/pages/modules/home.js`,
  async handle({ params: { name }, meta }) {
    const asset = name.endsWith('.js') ? (await allAssets()).get(name) : undefined;
    return asset === undefined ? refuse('not_found') : send(asset, meta);
  },
});
