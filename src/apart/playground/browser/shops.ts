import { byId } from '../../../web/browser/dom.ts';

/** The sandbox's answer to an order. */
export type Sold = Readonly<Partial<Record<'purchaseToken' | 'transaction' | 'transactionId' | 'originalTransactionId', string>>>;

/** The differences between the stores when the sandbox sells as one of them. */
export interface Shop {
  readonly store: 'google' | 'apple';
  /** The proof that an app gets from the store and sends to the service. */
  proofIn(sold: Sold): Sold & { readonly store: 'google' | 'apple' };
  /** The fields of `POST /sandbox/issue` that refund a purchase. */
  refundOf(kind: 'purchase' | 'subscription', sold: Sold): object;
}

const google: Shop = {
  store: 'google',
  proofIn: ({ purchaseToken }) => ({ store: 'google', purchaseToken: purchaseToken! }),
  refundOf: (kind, { purchaseToken }) => ({ purchaseToken, ...(kind === 'purchase' ? { refundedQuantity: 1 } : { state: 'expired' }) }),
};

const apple: Shop = {
  store: 'apple',
  proofIn: ({ transaction }) => ({ store: 'apple', transaction: transaction! }),
  refundOf: (kind, { transactionId, originalTransactionId }) => ({
    store: 'apple',
    ...(kind === 'purchase' ? { transactionId, refundedQuantity: 1 } : { originalTransactionId, state: 'refunded' }),
  }),
};

/** The store that a step's list has chosen. @param step the id of the step */
export function chosenShop(step: string): Shop {
  return byId<HTMLSelectElement>(`${step}-store`).value === 'apple' ? apple : google;
}
