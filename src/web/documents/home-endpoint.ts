import { z } from 'zod';
import { HTML, pageHeaders } from '../layout.ts';
import { accepts } from '../../server/http/accepts.ts';
import { Reply } from '../../server/http/endpoint.ts';
import { endpoint } from '../../declare.ts';
import { CACHED } from './served-documents.ts';
import { sendEdition, SENDS_EDITION } from '../encoded-text.ts';
import type { DocsServices } from '../text-endpoint.ts';

const SchemaObject = z
  .looseObject({})
  .meta({ description: 'A Schema Object of OpenAPI 3.0.', example: { type: 'object', properties: {} } });

const ListedEndpoint = z
  .object({
    method: z.string(),
    path: z.string(),
    auth: z.enum(['none', 'session (optional)', 'session (required)']),
    summary: z.string(),
    request: SchemaObject.meta({
      description: 'Path parameters, query and body of the request as one object. `x-in` of a field is its place: path, query or body.',
    }),
    response: SchemaObject,
    example: z.string().meta({ description: 'A curl command; `$base` stands for the address of the service.' }),
  })
  .meta({
    id: 'ListedEndpoint',
    example: {
      method: 'GET',
      path: '/v1/balance',
      auth: 'session (optional)',
      summary: "The caller's coin balance. It is 0 for an unknown install.",
      request: { type: 'object', properties: { installId: { type: 'string', 'x-in': 'query' } } },
      response: { type: 'object', properties: { ok: { type: 'boolean', enum: [true] }, balanceCoins: { type: 'integer' } } },
      example: "curl -s $base/v1/balance -H 'x-install-id: install-0001'",
    },
  });

export const root = endpoint({
  method: 'GET',
  path: '/',
  operationId: 'describeService',
  caller: 'none',
  summary: 'The interface of this service: an HTML page, or with ?format=json the list of its endpoints.',
  description: 'A client that accepts `application/json` and not `text/html` gets the list too.',
  query: z.object({
    format: z
      .enum(['json'], 'Must be json, or left out')
      .optional()
      .meta({ description: '`json`: reply with the list instead of the page.' }),
  }),
  reply: z.object({
    service: z.string().meta({ example: 'coinop' }),
    openapi: z.string().meta({ description: 'Path of the OpenAPI document.', example: '/openapi.json' }),
    endpoints: z.array(ListedEndpoint),
  }),
  ...SENDS_EDITION,
  pageUnless: 'format=json',
  example: `curl -s "$base/?format=json"`,
  handle: async ({ query, meta }, { docs }: DocsServices) =>
    query.format === 'json' || wantsJson(meta.accept)
      ? new Reply(docs().list, { headers: [CACHED, VARY] })
      : sendEdition(await docs().page(), meta, [CACHED, VARY, ...pageHeaders(meta.origin)], HTML),
});

/**
 * Whether a client wants the list of endpoints as JSON, not the page. Browsers accept HTML first, and anything else last. A client that
 * names neither HTML nor JSON gets the page.
 */
function wantsJson(accept: string): boolean {
  return accepts(accept, 'application/json') && !accepts(accept, 'text/html');
}

const VARY = ['vary', 'Accept'] as const;
