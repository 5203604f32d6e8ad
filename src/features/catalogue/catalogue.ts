import { z } from 'zod';
import { Encoded, Reply } from '../../server/http/endpoint.ts';
import { endpoint } from '../../declare.ts';
import { CatalogueEntry } from './model.ts';

/** Long enough to spare the network, short enough that nobody waits for a new app to show. */
const CACHE_RULE = ['cache-control', 'public, max-age=60'] as const;

export const catalogue = endpoint({
  method: 'GET',
  path: '/v1/catalogue',
  aliases: ['/v1/apps', '/v1/lobby/catalogue'],
  caller: 'none',
  summary: 'The apps and games of the portfolio.',
  description: 'With the `ETag` of an earlier reply in `If-None-Match` it answers 304 without a body while nothing changed.',
  headers: { 'if-none-match': 'The ETag of an earlier reply, several of them, or `*`.' },
  reply: z.object({ apps: z.array(CatalogueEntry), count: z.number().int().meta({ description: 'How many apps there are.' }) }),
  example: `curl -s $base/v1/catalogue`,
  handle({ meta }, services) {
    const { body, etag } = services.catalogue.edition;
    const headers = [['etag', etag] as const, CACHE_RULE];
    return matches(meta.ifNoneMatch, etag) ? new Reply(new Encoded(''), { status: 304, headers }) : new Reply(body, { headers });
  },
});

/** Whether an If-None-Match header names this tag, compared weakly (RFC 9110, section 13.1.2). */
function matches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '') return false;
  if (ifNoneMatch === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
