import { z } from 'zod';
import { Reply } from '../../server/http/endpoint.ts';
import { endpoint } from '../../declare.ts';
import { CACHED } from './served-documents.ts';
import type { DocsServices } from '../text-endpoint.ts';

export const document = endpoint({
  method: 'GET',
  path: '/openapi.json',
  operationId: 'getOpenapi',
  caller: 'none',
  summary: 'The OpenAPI 3.0.3 document of this interface.',
  description:
    'Made from the same declarations that validate the requests. The reply is the document alone, without `ok`, so that tools can read it.',
  reply: z.looseObject({
    openapi: z.string().meta({ example: '3.0.3' }),
    info: z.looseObject({ title: z.string(), version: z.string() }).meta({ example: { title: 'coinop', version: '1' } }),
    paths: z.looseObject({}),
  }),
  mediaType: 'application/json',
  example: `curl -s $base/openapi.json`,
  handle: (_, { docs }: DocsServices) => new Reply(docs().openapi, { headers: [CACHED] }),
});
