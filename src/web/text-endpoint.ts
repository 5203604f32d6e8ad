import { z } from 'zod';
import { endpoint, type Services } from '../declare.ts';
import { sendEdition, SENDS_EDITION, type Edition, type Headers } from './encoded-text.ts';

/** The services of the endpoints that serve documents. */
export type DocsServices = Pick<Services, 'docs'>;

/**
 * The parts in which endpoints that serve one text differ. `Path` is the path as a literal type, because the client's types list each
 * endpoint by its path.
 */
interface ServedText<Path extends string> {
  readonly path: Path;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly mediaType: string;
  readonly anyOrigin?: true;
}

/**
 * Declares an endpoint that answers with one text.
 * @param headers the headers of the answer, such as how long caches may keep it
 */
export function textEndpoint<const Path extends string>(
  text: ServedText<Path>,
  headers: Headers,
  edition: (services: DocsServices) => Promise<Edition>,
) {
  return endpoint({
    method: 'GET',
    caller: 'none',
    ...SENDS_EDITION,
    reply: z.object({}),
    example: `curl -s $base${text.path}`,
    ...text,
    handle: async ({ meta }, services: DocsServices) => sendEdition(await edition(services), meta, headers),
  });
}
