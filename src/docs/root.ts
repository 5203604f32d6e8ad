import { z } from 'zod';
import type { Config } from '../config.ts';
import { Reply, type Endpoint } from '../server/http/endpoint.ts';
import { endpoint, type Services } from '../declare.ts';
import { CACHED, type Docs } from './docs.ts';
import { PAGE_HEADERS } from './page.ts';

const SchemaObject = z.looseObject({}).meta({ description: 'A Schema Object of OpenAPI 3.0.' });

const ListedEndpoint = z.object({
  method: z.string(),
  path: z.string(),
  auth: z.enum(['none', 'session (optional)', 'session (required)']),
  summary: z.string(),
  request: SchemaObject.meta({
    description: 'All that the request takes, as one object; `x-in` says whether a field goes into the path, the query or the body.',
  }),
  response: SchemaObject,
  example: z.string().meta({ description: 'A curl command; `$base` stands for the address of the service.' }),
});

export const root = (docs: (config: Config) => Docs): Endpoint<Services> =>
  endpoint({
    method: 'GET',
    path: '/',
    caller: 'none',
    summary: 'What this service offers: a page for people, and with ?format=json the list of its endpoints.',
    query: z.object({
      format: z.enum(['json'], 'Must be json, or left out').optional().meta({ description: 'The list in place of the page.' }),
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
