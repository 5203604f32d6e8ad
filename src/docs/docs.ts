import type { Config } from '../config.ts';
import { Encoded } from '../server/http/endpoint.ts';
import { asyncapiDocument, type Channels } from './asyncapi.ts';
import { discoveryList } from './discovery.ts';
import { componentSchemas, openapiDocument, type Features } from './openapi.ts';
import { page } from './page.ts';
import { Schemas } from './schemas.ts';

/** What the endpoints and channels say about themselves, ready to send: those of the sandbox store where there is one. */
export interface Docs {
  readonly openapi: Encoded;
  readonly asyncapi: Encoded;
  readonly list: Encoded;
  readonly page: Encoded;
}

/**
 * Written once, when first asked for: the endpoints that serve it are among those it describes, so at the time of their
 * making they are not all there yet.
 */
export function docsOf(described: () => Described): (config: Config) => Docs {
  const written = new Map<boolean, Docs>();
  return ({ STORE }) => {
    const sandbox = STORE === 'sandbox';
    const docs = written.get(sandbox) ?? write(described(), sandbox);
    written.set(sandbox, docs);
    return docs;
  };
}

interface Described {
  readonly features: Features;
  readonly channels: Channels;
}

function write({ features: all, channels }: Described, sandbox: boolean): Docs {
  const features = Object.fromEntries(
    Object.entries(all)
      .map(([name, endpoints]) => [name, endpoints.filter((endpoint) => sandbox || endpoint.sandbox !== true)] as const)
      .filter(([, endpoints]) => endpoints.length > 0),
  );
  const schemas = new Schemas(componentSchemas);
  const endpoints = discoveryList(features, schemas);
  return {
    openapi: new Encoded(JSON.stringify(openapiDocument(features, schemas))),
    asyncapi: new Encoded(JSON.stringify(asyncapiDocument(channels, new Schemas(componentSchemas, 'draft-7')))),
    list: Encoded.ok({ service: 'coinop', openapi: '/openapi.json', endpoints }),
    page: new Encoded(page(features, channels)),
  };
}

/** They change with the next start at the earliest; a minute keeps a rolling update honest. */
export const CACHED: readonly [name: string, value: string] = ['cache-control', 'public, max-age=60'];
