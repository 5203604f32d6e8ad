import { Encoded } from '../server/endpoint.ts';
import { discoveryList } from './discovery.ts';
import { componentSchemas, openapiDocument, type Features } from './openapi.ts';
import { page } from './page.ts';
import { Schemas } from './schemas.ts';

/** What the endpoints say about themselves, ready to send. */
export interface Docs {
  readonly openapi: Encoded;
  readonly list: Encoded;
  readonly page: Encoded;
}

/**
 * Written once, when first asked for: the endpoints that serve it are among those it describes, so at the time of their
 * making `features` is not there yet.
 */
export function docsOf(features: () => Features): () => Docs {
  let docs: Docs | undefined;
  return () => (docs ??= write(features()));
}

function write(features: Features): Docs {
  const schemas = new Schemas(componentSchemas);
  const endpoints = discoveryList(features, schemas);
  return {
    openapi: new Encoded(JSON.stringify(openapiDocument(features, schemas))),
    list: Encoded.ok({ service: 'coinop', openapi: '/openapi.json', endpoints }),
    page: new Encoded(page(features)),
  };
}

/** They change with the next start at the earliest; a minute keeps a rolling update honest. */
export const CACHED: readonly [name: string, value: string] = ['cache-control', 'public, max-age=60'];
