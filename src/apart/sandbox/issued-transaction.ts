/** What the sandbox says of a transaction, without the time at which it signs. */
export interface Issued {
  readonly transactionId: string;
  readonly originalTransactionId: string;
  readonly bundleId: string;
  readonly productId: string;
  readonly type: string;
  readonly environment: string;
  readonly quantity: number;
  readonly purchaseDate: number;
  readonly originalPurchaseDate?: number;
  readonly transactionReason?: 'PURCHASE' | 'RENEWAL';
  readonly appAccountToken?: string;
  readonly expiresDate?: number;
  /** The fields of a refund. Left out: nothing is refunded. */
  readonly revoked?:
    | {
        readonly revocationDate: number;
        readonly revocationReason: number;
        readonly revocationType: string;
        readonly revocationPercentage?: number;
      }
    | undefined;
  /** The renewal info of a subscription. */
  readonly renewal?: {
    readonly autoRenewStatus: 0 | 1;
    readonly gracePeriodExpiresDate?: number;
    readonly isInBillingRetryPeriod?: boolean;
  };
}

/** What Apple signs of a transaction. */
export function transactionOf({ revoked, renewal: _, ...bought }: Issued, signedDate: number): object {
  return { originalPurchaseDate: bought.purchaseDate, ...bought, ...revoked, inAppOwnershipType: 'PURCHASED', signedDate };
}
