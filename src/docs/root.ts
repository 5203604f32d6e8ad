import { z } from 'zod';
import type { Config } from '../config.ts';
import { Reply, type Endpoint } from '../server/http/endpoint.ts';
import { endpoint, type Services } from '../declare.ts';
import { CACHED, type Docs } from './documents.ts';
import { PAGE_HEADERS } from './page.ts';

const SchemaObject = z.looseObject({}).meta({ description: 'A Schema Object of OpenAPI 3.0.' });

const ListedEndpoint = z.object({
  method: z.string(),
  path: z.string(),
  auth: z.enum(['none', 'session (optional)', 'session (required)']),
  summary: z.string(),
  request: SchemaObject.meta({
    description: 'Path parameters, query and body of the request as one object. `x-in` of a field is its place: path, query or body.',
  }),
  response: SchemaObject,
  example: z.string().meta({ description: 'A curl command; `$base` stands for the address of the service.' }),
});

export const root = (docs: (config: Config) => Docs): Endpoint<Services> =>
  endpoint({
    method: 'GET',
    path: '/',
    caller: 'none',
    summary: 'The interface of this service: an HTML page, or with ?format=json the list of its endpoints.',
    query: z.object({
      format: z
        .enum(['json'], 'Must be json, or left out')
        .optional()
        .meta({ description: '`json`: reply with the list instead of the page.' }),
    }),
    reply: z.object({
      service: z.string(),
      openapi: z.string().meta({ description: 'Path of the OpenAPI document.' }),
      endpoints: z.array(ListedEndpoint),
    }),
    pageUnless: 'format=json',
    example: `curl -s "$base/?format=json"`,
    handle: ({ query }, { config }) =>
      query.format === 'json'
        ? new Reply(docs(config).list, { headers: [CACHED] })
        : new Reply(docs(config).page, { headers: [CACHED, ...PAGE_HEADERS], mediaType: 'text/html; charset=utf-8' }),
  });
