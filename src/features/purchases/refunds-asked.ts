/** A hash: the process that asks the store for refunds, and the time of the store's last answer. */
export const refundsAskedKey = (store: string): string => `product-purchases:asked:${store}`;
