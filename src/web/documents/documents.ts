import { homePage, type Playground, type Shown } from '../pages/home.ts';
import type { Docs } from './served-documents.ts';
import { Encoded, type EndpointDeclaration } from '../../server/http/endpoint.ts';
import { asyncapiDocument, type Channels } from './asyncapi.ts';
import { discoveryList } from './discovery.ts';
import { editionOf, editionsFrom, madeOnce } from '../encoded-text.ts';
import { openapiDocument, type Features } from './openapi.ts';
import { errorSchemas } from './error-replies.ts';
import { Schemas } from './schemas.ts';
import { errorGivers } from '../reference/error-givers.ts';

/** The endpoints and channels that the documents describe. */
interface Described {
  readonly features: Features;
  readonly channels: Channels;
  /** The endpoints of operators. Undefined without ADMIN_API=on. */
  readonly operator: Features[string] | undefined;
  /** The endpoints of the sandbox. Undefined without STORE=sandbox. */
  readonly sandbox: Features[string] | undefined;
  readonly playground: Playground | undefined;
  /** Whether `/metrics` is served on its own port. */
  readonly hasMetricsPort: boolean;
}

/** Makes the documents at the first request, because that takes tens of milliseconds, and most processes never serve them. */
export function docsOf(described: Described): () => Docs {
  let docs: Docs | undefined;
  return () => (docs ??= write(described));
}

function write({ features: all, channels, operator, sandbox, playground, hasMetricsPort }: Described): Docs {
  const schemas = new Schemas(errorSchemas);
  const features = those({ ...all, ...(operator && { operator }) }, ({ hasOwnPort }) => !hasMetricsPort || hasOwnPort !== true);
  const withSandbox = { ...features, ...(sandbox && { sandbox }) };
  const shown: Shown = { sandbox: sandbox !== undefined, playground, metrics: !hasMetricsPort };
  const endpoints = discoveryList(withSandbox, schemas);
  const openapi = openapiDocument(features, schemas);
  const asyncapi = asyncapiDocument(channels, new Schemas(errorSchemas, 'draft-7'));
  return {
    openapi: new Encoded(JSON.stringify(openapi)),
    asyncapi: new Encoded(JSON.stringify(asyncapi)),
    // The pages are made in a worker thread, because that takes hundreds of milliseconds of CPU time.
    pages: editionsFrom(new URL('../reference/pages-worker.ts', import.meta.url), () => ({
      openapi: sandbox === undefined ? openapi : openapiDocument(withSandbox, new Schemas(errorSchemas)),
      asyncapi,
      givers: errorGivers(withSandbox, channels),
    })),
    list: Encoded.ok({ service: 'coinop', openapi: '/openapi.json', endpoints }),
    page: madeOnce(() => editionOf(homePage(shown, Object.keys(withSandbox)))),
  };
}

/** The features with only those of their endpoints for which `which` is true. A feature without such an endpoint is left out. */
function those(features: Features, which: (endpoint: EndpointDeclaration) => boolean): Features {
  return Object.fromEntries(
    Object.entries(features)
      .map(([name, endpoints]) => [name, endpoints.filter(which)] as const)
      .filter(([, endpoints]) => endpoints.length > 0),
  );
}
