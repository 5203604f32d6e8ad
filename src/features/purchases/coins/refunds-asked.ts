/** A hash: the process that leases the right to ask the app store for refunds, and when the store was last asked and answered. */
export const refundsAskedKey = (store: string): string => `product-purchases:asked:${store}`;
