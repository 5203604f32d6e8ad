import { z } from 'zod';
import type { Config } from '../../config.ts';
import { Reply, type Endpoint } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';
import { CACHED, type Docs } from './documents.ts';

export const liveDocument = (docs: (config: Config) => Docs): Endpoint<Pick<Services, 'config'>> =>
  endpoint({
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
    handle: (_, { config }: Pick<Services, 'config'>) => new Reply(docs(config).asyncapi, { headers: [CACHED] }),
  });
