import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { endpoint, type Services } from '../../declare.ts';
import type { Endpoint } from '../../server/http/endpoint.ts';
import { CACHED, type Docs } from '../documents.ts';
import { editionOf, madeOnce, sendEdition } from '../edition.ts';
import { PAGE_HEADERS } from './frame.ts';

const IF_NONE_MATCH = { 'if-none-match': 'The ETag of an earlier reply.' };

const HTML = 'text/html; charset=utf-8';

type DocsOf = (config: Config) => Docs;

export const referenceDocs = (docs: DocsOf): Endpoint<Services> =>
  endpoint({
    method: 'GET',
    path: '/docs',
    operationId: 'getReferencePage',
    caller: 'none',
    summary: 'The API reference as an HTML page, with a search and a form to try each endpoint.',
    headers: IF_NONE_MATCH,
    reply: z.object({}),
    mediaType: HTML,
    example: `curl -s $base/docs`,
    handle: async ({ meta }, { config }) => sendEdition((await docs(config).pages()).reference, meta, PAGE),
  });

export const channelsDocs = (docs: DocsOf): Endpoint<Services> =>
  endpoint({
    method: 'GET',
    path: '/docs/channels',
    operationId: 'getChannelsPage',
    caller: 'none',
    summary: 'The live channels and their messages as an HTML page.',
    headers: IF_NONE_MATCH,
    reply: z.object({}),
    mediaType: HTML,
    example: `curl -s $base/docs/channels`,
    handle: async ({ meta }, { config }) => sendEdition((await docs(config).pages()).channels, meta, PAGE),
  });

export const errorsDocs = (docs: DocsOf): Endpoint<Services> =>
  endpoint({
    method: 'GET',
    path: '/docs/errors',
    operationId: 'getErrorsPage',
    caller: 'none',
    summary: 'Every error code as an HTML page: what it means, and what to do about it.',
    headers: IF_NONE_MATCH,
    reply: z.object({}),
    mediaType: HTML,
    example: `curl -s $base/docs/errors`,
    handle: async ({ meta }, { config }) => sendEdition((await docs(config).pages()).errors, meta, PAGE),
  });

/** `no-cache`: a browser asks each time whether a file changed, so that it never mixes a page with the script of another version. */
const ASKED_EACH_TIME = ['cache-control', 'no-cache'] as const;
const PAGE = [CACHED, ...PAGE_HEADERS];

/** Made at the first request, in a thread of its own: to remove the types takes tens of milliseconds. */
const files = madeOnce(async () => {
  const worker = new Worker(new URL('files-worker.ts', import.meta.url));
  const [{ style, script }] = (await once(worker, 'message')) as [{ style: string; script: string }];
  return { style: await editionOf(style), script: await editionOf(script) };
});

export const docsStyle = endpoint({
  method: 'GET',
  path: '/docs/style.css',
  operationId: 'getDocsStyle',
  caller: 'none',
  summary: 'The style sheet of the pages below /docs.',
  headers: IF_NONE_MATCH,
  reply: z.object({}),
  mediaType: 'text/css; charset=utf-8',
  example: `curl -s $base/docs/style.css`,
  handle: async ({ meta }) => sendEdition((await files()).style, meta, [ASKED_EACH_TIME]),
});

export const docsScript = endpoint({
  method: 'GET',
  path: '/docs/script.js',
  operationId: 'getDocsScript',
  caller: 'none',
  summary: 'The script of the pages below /docs.',
  headers: IF_NONE_MATCH,
  reply: z.object({}),
  mediaType: 'text/javascript; charset=utf-8',
  example: `curl -s $base/docs/script.js`,
  handle: async ({ meta }) => sendEdition((await files()).script, meta, [ASKED_EACH_TIME]),
});
