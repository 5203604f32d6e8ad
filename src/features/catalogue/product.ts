import { z } from 'zod';
import { SELLING_STORES } from '../../stores/store.ts';
import { Coins } from '../coins/model.ts';

/** Wide enough for the rules of both stores: Google's are 1 to 40 of a-z, 0-9, _ and ., Apple's 1 to 100 of letters, digits, _, . and -. */
const Sku = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/, 'Must be 1 to 100 of letters, digits, _, . and -, the first a letter or digit');

export const ProductId = Sku.meta({ description: 'Identifier of a product in the catalogue.', example: 'coins-500' });

/** Coins that an app store sells: a one-time product there, which may be bought again and again. */
export const Product = z
  .object({
    productId: ProductId,
    coins: Coins.meta({ description: 'Coins that one unit gives, 1 to 1,000,000.', example: 500 }),
    name: z.string().min(1).max(80).optional(),
    stores: z
      .object({ google: Sku.optional(), apple: Sku.optional() })
      .meta({ description: "The product's id in each app store that sells it." }),
  })
  .meta({
    id: 'Product',
    example: { productId: 'coins-500', coins: 500, name: 'A pouch of coins', stores: { google: 'coins_500', apple: 'coins_500' } },
  });

export type CatalogueProduct = z.output<typeof Product>;

/** As people write it: an unknown field is a typing error. */
export const WrittenProduct = z.strictObject({ ...Product.shape, stores: z.strictObject(Product.shape.stores.shape) });

/** More products than an app store lists. */
const MOST_PRODUCTS = 1000;

/** No two products have the same id, nor the same id in one app store: a purchase names its product by it. */
export const WrittenProducts = z
  .array(WrittenProduct)
  .max(MOST_PRODUCTS)
  .superRefine((products, context) => {
    const taken = new Set<string>();
    const take = (id: string, path: (string | number)[], message: string): void => {
      if (taken.has(id)) context.addIssue({ code: 'custom', path, message });
      taken.add(id);
    };
    for (const [index, { productId, stores }] of products.entries()) {
      take(productId, [index, 'productId'], `Another product has the productId ${productId}`);
      for (const store of SELLING_STORES) {
        const sku = stores[store];
        if (sku !== undefined) take(`${store} ${sku}`, [index, 'stores', store], `Another product is sold as ${sku} in this store`);
      }
    }
  });
