import type { Config } from '../../config.ts';
import type { Shown } from '../pages/home.ts';
import { Encoded, type EndpointDeclaration } from '../../server/http/endpoint.ts';
import { asyncapiDocument, type Channels } from './asyncapi.ts';
import { discoveryList } from './discovery.ts';
import { editionsFrom, type Edition } from '../edition.ts';
import { openapiDocument, type Features } from './openapi.ts';
import { page } from './endpoints-page.ts';
import { errorSchemas } from './refusals.ts';
import { Schemas } from './schemas.ts';
import { errorGivers } from '../reference/error-givers.ts';

/**
 * The documents of the interface, encoded. `/metrics` is in them only without METRICS_PORT, and the endpoints of operators only with
 * ADMIN_API=on. The sandbox's endpoints are in the list and on the pages only with STORE=sandbox, and never in the OpenAPI document: they
 * imitate Google's interfaces, and a client that is generated from the document would contain calls that no production service has.
 */
export interface Docs {
  readonly openapi: Encoded;
  readonly asyncapi: Encoded;
  readonly list: Encoded;
  readonly page: Encoded;
  /** The pages below /docs. */
  readonly pages: () => Promise<ReadonlyMap<'reference' | 'channels' | 'errors', Edition>>;
}

/**
 * Builds the documents on the first request, and caches them. They cannot be built earlier: they describe the endpoints that
 * serve them, and those endpoints need this function first.
 */
export function docsOf(described: () => Described): (config: Config) => Docs {
  const written = new Map<string, Docs>();
  return ({ STORE, PLAYGROUND, METRICS_PORT, ADMIN_API }) => {
    const shown = { sandbox: STORE === 'sandbox', playground: PLAYGROUND === 'on', metrics: METRICS_PORT === undefined };
    const isOperated = ADMIN_API === 'on';
    const key = JSON.stringify({ ...shown, isOperated });
    const { features, channels, operator = [] } = described();
    const docs = written.get(key) ?? write({ features: isOperated ? { ...features, operator } : features, channels }, shown);
    written.set(key, docs);
    return docs;
  };
}

interface Described {
  readonly features: Features;
  readonly channels: Channels;
  /** The endpoints of operators. */
  readonly operator?: Features[string];
}

function write({ features: all, channels }: Omit<Described, 'operator'>, shown: Shown): Docs {
  const features = those(all, (endpoint) => isServed(endpoint, shown));
  const schemas = new Schemas(errorSchemas);
  const endpoints = discoveryList(features, schemas);
  const openapi = openapiDocument(
    those(features, ({ sandbox }) => sandbox !== true),
    schemas,
  );
  const asyncapi = asyncapiDocument(channels, new Schemas(errorSchemas, 'draft-7'));
  return {
    openapi: new Encoded(JSON.stringify(openapi)),
    asyncapi: new Encoded(JSON.stringify(asyncapi)),
    // In a worker, because this takes 70 ms of CPU time.
    pages: editionsFrom(new URL('../reference/pages-worker.ts', import.meta.url), () => ({
      openapi: shown.sandbox ? openapiDocument(features, new Schemas(errorSchemas)) : openapi,
      asyncapi,
      givers: errorGivers(features, channels),
    })),
    list: Encoded.ok({ service: 'coinop', openapi: '/openapi.json', endpoints }),
    page: new Encoded(page(features, channels, shown)),
  };
}

/** The features with their matching endpoints. Features without one are left out. */
function those(features: Features, which: (endpoint: EndpointDeclaration) => boolean): Features {
  return Object.fromEntries(
    Object.entries(features)
      .map(([name, endpoints]) => [name, endpoints.filter(which)] as const)
      .filter(([, endpoints]) => endpoints.length > 0),
  );
}

function isServed({ sandbox, hasOwnPort }: EndpointDeclaration, shown: Shown): boolean {
  return (shown.sandbox || sandbox !== true) && (shown.metrics || hasOwnPort !== true);
}

/** The documents change only when the service restarts. A minute bounds how long caches serve old ones after a rolling update. */
export const CACHED: readonly [name: string, value: string] = ['cache-control', 'public, max-age=60'];
