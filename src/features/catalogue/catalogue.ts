import { z } from 'zod';
import { Encoded, Reply } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';
import { CatalogueEntry } from './model.ts';

/** A minute saves most requests, and a new app shows up soon enough. */
const CACHE_RULE = ['cache-control', 'public, max-age=60'] as const;

export const catalogue = endpoint({
  method: 'GET',
  path: '/v1/catalogue',
  operationId: 'getCatalogue',
  aliases: ['/v1/apps', '/v1/lobby/catalogue'],
  caller: 'none',
  summary: 'The apps and games of the portfolio.',
  description: 'A request with the `ETag` of an earlier reply in `If-None-Match` gets 304 without a body while the catalogue is unchanged.',
  headers: { 'if-none-match': 'One or several ETags of earlier replies, or `*`.' },
  reply: z.object({ apps: z.array(CatalogueEntry), count: z.number().int().meta({ description: 'Number of entries in `apps`.' }) }),
  example: `curl -s $base/v1/catalogue`,
  handle({ meta }, services: Pick<Services, 'catalogue'>) {
    const { body, etag } = services.catalogue.edition;
    const headers = [['etag', etag] as const, CACHE_RULE];
    return matches(meta.ifNoneMatch, etag) ? new Reply(new Encoded(''), { status: 304, headers }) : new Reply(body, { headers });
  },
});

/** Whether an If-None-Match header holds this tag, by weak comparison (RFC 9110, section 13.1.2). */
function matches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '') return false;
  if (ifNoneMatch === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
