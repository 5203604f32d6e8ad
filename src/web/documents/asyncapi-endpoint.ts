import { z } from 'zod';
import { Reply } from '../../server/http/endpoint.ts';
import { endpoint } from '../../declare.ts';
import { CACHED } from './served-documents.ts';
import type { DocsServices } from '../text-endpoint.ts';

export const liveDocument = endpoint({
  method: 'GET',
  path: '/asyncapi.json',
  operationId: 'getAsyncapi',
  caller: 'none',
  summary: 'The AsyncAPI 3.0.0 document of the live channels.',
  description: 'Made from the same declarations that validate the messages. The reply is the document alone, without `ok`.',
  reply: z.looseObject({
    asyncapi: z.string().meta({ example: '3.0.0' }),
    info: z.looseObject({ title: z.string(), version: z.string() }).meta({ example: { title: 'coinop', version: '1' } }),
    channels: z.looseObject({}),
  }),
  mediaType: 'application/json',
  example: `curl -s $base/asyncapi.json`,
  handle: (_, { docs }: DocsServices) => new Reply(docs().asyncapi, { headers: [CACHED] }),
});
