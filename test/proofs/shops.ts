import type { Issued } from '../../src/apart/sandbox/apple/issued-transaction.ts';
import type { IssuedPurchase } from '../../src/apart/sandbox/google/purchase-record.ts';
import { subscriptionAt, type IssuedSubscription } from '../../src/apart/sandbox/google/subscription-lifecycle.ts';
import { appleAccountTokenOf } from '../../src/stores/apple/apple.ts';
import type { StoreName } from '../../src/stores/stores.ts';

/** The stores that a proof may be about (`--store`). */
export const storesOf = { google: ['google'], apple: ['apple'], both: ['google', 'apple'] } as const satisfies Record<string, StoreName[]>;

export interface SoldProduct {
  readonly store: StoreName;
  readonly id: string;
  /** Units that the buyer keeps. 0 while nobody has paid. */
  readonly units: number;
  readonly isPaid: boolean;
  /** Whether the store knows that the buyer has the coins, or does not want to. */
  readonly isFinished: boolean;
  /** The account that the app named to the store. */
  readonly buyer: string | undefined;
}

/** Until when a subscription gives access, in milliseconds since 1970. Undefined: it gives none now. */
export type Access = number | undefined;

/** How the sandbox sells as one of the stores, and what its books say. */
export interface Shop {
  readonly store: StoreName;
  /** The fields of an order that name the buyer. */
  buyer(accountId: string): object;
  /** The account as the store has it. */
  nameOf(accountId: string): string;
  /** The fields of an order that name what was sold before. */
  sold(kind: 'purchase' | 'subscription', id: string): object;
  /** The store's own id in its answer to an order. */
  idIn(kind: 'purchase' | 'subscription', answer: Answered): string;
  /** What the app sends to the service. */
  proofIn(answer: Answered): object;
  /** The states in which a subscription ends at once. */
  readonly endings: readonly string[];
  /** A change of an order that takes back all units. */
  takenBack(quantity: number): object;
  /** Parses a record of the books. Undefined: it is another store's. */
  productIn(id: string, issued: object, finishedAt: string | null): SoldProduct | undefined;
  accessIn(issued: object, now: number): Access;
}

type Answered = Readonly<Record<'purchaseToken' | 'transaction' | 'transactionId' | 'originalTransactionId', string>>;

const google: Shop = {
  store: 'google',
  endings: ['expired'],
  buyer: (obfuscatedAccountId) => ({ obfuscatedAccountId }),
  nameOf: (accountId) => accountId,
  sold: (_, purchaseToken) => ({ purchaseToken }),
  idIn: (_, { purchaseToken }) => purchaseToken,
  proofIn: ({ purchaseToken }) => ({ store: 'google', purchaseToken }),
  takenBack: () => ({ state: 'canceled' }),
  productIn(id, issued, finishedAt) {
    if (!('orderId' in issued)) return undefined;
    const { state, quantity, refundedQuantity, completedAt, obfuscatedAccountId: buyer } = issued as IssuedPurchase;
    const units = state === 'purchased' ? quantity - refundedQuantity : 0;
    return {
      store: 'google',
      id,
      units,
      isPaid: completedAt !== undefined,
      isFinished: state !== 'purchased' || finishedAt !== null,
      buyer,
    };
  },
  accessIn(issued, now) {
    const { state, expiresAt = 0 } = subscriptionAt(issued as IssuedSubscription, now);
    return ['active', 'grace', 'canceled'].includes(state) && now < expiresAt ? expiresAt : undefined;
  },
};

const apple: Shop = {
  store: 'apple',
  endings: ['expired', 'refunded', 'revoked'],
  buyer: (accountId) => ({ appAccountToken: appleAccountTokenOf(accountId) }),
  nameOf: appleAccountTokenOf,
  sold: (kind, id) => (kind === 'purchase' ? { transactionId: id } : { originalTransactionId: id }),
  idIn: (kind, { transactionId, originalTransactionId }) => (kind === 'purchase' ? transactionId : originalTransactionId),
  proofIn: ({ transaction }) => ({ store: 'apple', transaction }),
  takenBack: (refundedQuantity) => ({ refundedQuantity }),
  productIn(id, issued, finishedAt) {
    if (!('transactionId' in issued)) return undefined;
    const { quantity, revoked, appAccountToken: buyer } = issued as Issued;
    const { revocationPercentage = revoked === undefined ? 0 : 100_000 } = revoked ?? {};
    const units = quantity - Math.round((quantity * revocationPercentage) / 100_000);
    return { store: 'apple', id, units, isPaid: true, isFinished: finishedAt !== null, buyer };
  },
  accessIn(issued, now) {
    const { expiresDate = 0, revoked, renewal } = issued as Issued;
    if (revoked !== undefined && revoked.revocationDate <= now) return undefined;
    const ends = [expiresDate, renewal?.gracePeriodExpiresDate ?? 0].find((end) => now < end);
    return ends;
  },
};

export const shops: Readonly<Record<StoreName, Shop>> = { google, apple };
