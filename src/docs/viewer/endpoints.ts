import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { endpoint, type Services } from '../../declare.ts';
import type { Endpoint } from '../../server/http/endpoint.ts';
import { CACHED, type Docs } from '../documents.ts';
import { ASKED_EACH_TIME } from '../../pages/assets.ts';
import { editionOf, madeOnce, sendEdition } from '../../pages/edition.ts';
import { HTML, pageHeaders } from '../../pages/layout.ts';

const IF_NONE_MATCH = { 'if-none-match': 'The ETag of an earlier reply.' };

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

const PAGE = [CACHED, ...pageHeaders()];

const styleSheet = madeOnce(async () => editionOf(await readFile(new URL('style.css', import.meta.url), 'utf8')));

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
  handle: async ({ meta }) => sendEdition(await styleSheet(), meta, ASKED_EACH_TIME),
});
