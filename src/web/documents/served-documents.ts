import type { Encoded } from '../../server/http/endpoint.ts';
import type { Edition } from '../encoded-text.ts';

/**
 * The documents that describe the service's interface, encoded. `/metrics` is in them only without METRICS_PORT, and the endpoints of
 * operators only with ADMIN_API=on. The sandbox's endpoints are in the list and on the pages only with STORE=sandbox. They are never in the
 * OpenAPI document: they imitate Google's interfaces, and a client that is generated from the document would contain calls that no
 * production service has.
 */
export interface Docs {
  readonly openapi: Encoded;
  readonly asyncapi: Encoded;
  readonly list: Encoded;
  /** The page at `/`. */
  readonly page: () => Promise<Edition>;
  /** The texts below /docs, and /llms.txt, in the form in which they are sent, by their paths. */
  readonly pages: () => Promise<ReadonlyMap<string, Edition>>;
}

/**
 * The header that lets caches keep the documents for a minute. The documents change only when the service restarts. After a rolling update
 * caches serve old documents for a minute at most.
 */
export const CACHED: readonly [name: string, value: string] = ['cache-control', 'public, max-age=60'];
