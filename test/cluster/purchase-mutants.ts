import type { Change } from './unguarded.ts';

/** The service believes the client's state of a purchase: a payment that is still pending gives coins at once. */
export const STATE_OF_CLIENT: readonly Change[] = [
  {
    file: 'src/features/purchases/purchase.ts',
    from: 'store: z.enum(SELLING_STORES),',
    to: "store: z.enum(SELLING_STORES), state: z.enum(['pending', 'purchased', 'canceled']).optional(),",
  },
  {
    file: 'src/features/purchases/purchase.ts',
    from: 'const purchase = await seller.look(body[field]!, undefined, traceparent);',
    to: `const answer = await seller.look(body[field]!, undefined, traceparent);
    const purchase = answer === 'unknown' ? answer : { ...answer, state: body.state ?? answer.state };`,
  },
];

/** Each check that finds a refund takes the refunded units again, without the sum of the earlier refunds. */
export const REFUND_BY_ADD: readonly Change[] = [
  {
    file: 'src/features/purchases/record.lua',
    from: 'local decided = decide()',
    to: "redis.call('HDEL', purchase, 'returnedUnits')\nlocal decided = decide()",
  },
];

/** The coins are granted before a record says whose purchase it is. */
export const GRANT_BEFORE_CLAIM: readonly Change[] = [
  {
    file: 'src/features/purchases/purchases.ts',
    from: 'const purchaseId = purchaseIdOf(store, purchase.id);\n    for (',
    to: `const purchaseId = purchaseIdOf(store, purchase.id);
    const sold = catalogue.productSoldAs(store, purchase.sku);
    if (accountId !== undefined && sold !== undefined && purchase.state === 'purchased')
      await this.#parts.bookings.book(accountId, {
        ...{ type: 'topup', coins: sold.coins * purchase.quantity, key: [store, purchaseId, '1'], refusesBanned: false },
        purchase: { purchaseId, store, productId: sold.productId, quantity: purchase.quantity },
      });
    for (`,
  },
];
