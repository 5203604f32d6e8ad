/** A hash: who asks the store for refunds, and when it last answered. */
export const refundsAskedKey = (store: string): string => `product-purchases:asked:${store}`;
