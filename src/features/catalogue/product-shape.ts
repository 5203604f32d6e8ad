import { z } from 'zod';
import { STORE_NAMES, type StoreName } from '../../stores/stores.ts';
import { Coins } from '../coins/model.ts';

/**
 * The id of a product, in the catalogue or in an app store. The pattern fits the rules of both stores: Google's are 1 to 40 of a-z, 0-9, _
 * and ., Apple's 1 to 100 of letters, digits, _, . and -.
 */
const Sku = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/, 'Must be 1 to 100 of letters, digits, _, . and -, the first a letter or digit');

export const ProductId = Sku.meta({ description: 'Identifier of a product in the catalogue.', example: 'coins-500' });

/** Coins that an app store sells as a one-time product, which may be bought again and again. */
export const Product = z
  .object({
    productId: ProductId,
    coins: Coins.meta({ description: 'The coins that one unit of the product gives, 1 to 1,000,000.', example: 500 }),
    name: z.string().min(1).max(80).optional().meta({ description: 'The name that people see.' }),
    stores: z
      .object(Object.fromEntries(STORE_NAMES.map((name) => [name, Sku.optional()])) as { [Name in StoreName]: z.ZodOptional<typeof Sku> })
      .meta({ description: "The product's id in each app store that sells it." }),
  })
  .meta({
    id: 'Product',
    example: { productId: 'coins-500', coins: 500, name: 'A pouch of coins', stores: { google: 'coins_500', apple: 'coins_500' } },
  });

export type CatalogueProduct = z.output<typeof Product>;
