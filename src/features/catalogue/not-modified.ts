import { Encoded, Reply, type RequestMeta } from '../../server/http/endpoint.ts';
import { namesTag } from '../../server/http/entity-tag.ts';
import type { Listing } from './file.ts';

export const KNOWN_REPLY =
  'A request with the `ETag` of an earlier reply in `If-None-Match` gets 304 without a body while the catalogue is unchanged.';

export const KNOWN_HEADERS = { 'if-none-match': 'One or several ETags of earlier replies, or `*`.' };

/** The Cache-Control header of the catalogue's replies. A minute saves most requests, and clients still see a new entry soon. */
const CACHE_RULE = ['cache-control', 'public, max-age=60'] as const;

/** The reply of a catalogue endpoint: the listing, or 304 if the request names the listing's ETag. */
export function unlessKnown({ body, etag }: Listing, { ifNoneMatch }: RequestMeta): Reply<Encoded> {
  const headers = [['etag', etag] as const, CACHE_RULE];
  return namesTag(ifNoneMatch, etag) ? new Reply(new Encoded(''), { status: 304, headers }) : new Reply(body, { headers });
}
