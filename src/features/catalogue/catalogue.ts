import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import { KNOWN_HEADERS, KNOWN_REPLY, unlessKnown } from './not-modified.ts';
import { CatalogueEntry } from './model.ts';

export const catalogue = endpoint({
  method: 'GET',
  path: '/v1/catalogue',
  operationId: 'getCatalogue',
  aliases: ['/v1/apps', '/v1/lobby/catalogue'],
  caller: 'none',
  summary: 'The apps and games of the portfolio.',
  description: KNOWN_REPLY,
  headers: KNOWN_HEADERS,
  reply: z.object({ apps: z.array(CatalogueEntry), count: z.number().int().meta({ description: 'Number of entries in `apps`.' }) }),
  example: `curl -s $base/v1/catalogue`,
  handle({ meta }, services: Pick<Services, 'catalogue'>) {
    return unlessKnown(services.catalogue.edition.apps, meta);
  },
});
