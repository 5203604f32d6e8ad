import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import { KNOWN_HEADERS, KNOWN_REPLY, unlessKnown } from './not-modified.ts';
import { Product } from './product-shape.ts';

export const products = endpoint({
  method: 'GET',
  path: '/v1/products',
  operationId: 'listProducts',
  caller: 'none',
  summary: 'The coins that the app stores sell.',
  description:
    "The catalogue has them: what each is called in each app store, and the coins that one unit gives. The price is the store's. " +
    KNOWN_REPLY,
  headers: KNOWN_HEADERS,
  reply: z.object({ products: z.array(Product), count: z.number().int().meta({ description: 'Number of entries in `products`.' }) }),
  example: `curl -s $base/v1/products`,
  handle({ meta }, services: Pick<Services, 'catalogue'>) {
    return unlessKnown(services.catalogue.edition.products, meta);
  },
});
