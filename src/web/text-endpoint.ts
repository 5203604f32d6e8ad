import { z } from 'zod';
import { endpoint, type Services } from '../declare.ts';
import { sendEdition, SENDS_EDITION, type Edition, type Headers } from './edition.ts';

/** For the endpoints of the documents. */
export type DocsServices = Pick<Services, 'docs'>;

/** `Path` is the path itself: the types of the client list each endpoint by it. */
interface ServedText<Path extends string> {
  readonly path: Path;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly mediaType: string;
  readonly anyOrigin?: true;
}

/** An endpoint that answers with one text. @param headers such as how long caches may keep it */
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
