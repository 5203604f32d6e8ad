import type { ScriptRunner } from '../../../redis/script-runner.ts';
import { WHOLE_PERCENTAGE } from '../../../stores/apple/transactions.ts';
import { keepIssued, readIssued, type KeptRecord } from '../issued-record.ts';
import { sandboxRedisKeys } from '../model.ts';

/** The fields of a transaction without the time at which the sandbox signs it. */
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
  /** The time from which on the stand-in for Apple's API knows the purchase. Left out: at once. */
  readonly knownAt?: number | undefined;
}

/** What Apple signs of a transaction. */
export function transactionOf({ revoked, renewal: _, knownAt: __, ...bought }: Issued, signedDate: number): object {
  return { originalPurchaseDate: bought.purchaseDate, ...bought, ...revoked, inAppOwnershipType: 'PURCHASED', signedDate };
}

/** The fields of a subscription's renewal that the sandbox signs. */
export function renewalOf({ originalTransactionId, productId, environment, renewal }: Issued, signedDate: number): object {
  return { originalTransactionId, productId, autoRenewProductId: productId, environment, ...renewal, signedDate };
}

/** The status of a subscription: https://developer.apple.com/documentation/appstoreserverapi/status */
export function statusOf({ expiresDate = 0, revoked, renewal }: Issued, at: number): number {
  if (revoked !== undefined) return 5;
  if (at < expiresDate) return 1;
  if (at < (renewal?.gracePeriodExpiresDate ?? 0)) return 4;
  return renewal?.isInBillingRetryPeriod === true ? 3 : 2;
}

/** Seconds for which Redis keeps a transaction after its last change. */
export const KEPT_SECONDS = 400 * 86_400;

/** The transaction with an id. It is a purchase, or a period of a subscription. */
export function readTransaction(scripts: ScriptRunner, transactionId: string): Promise<KeptRecord<Issued> | undefined> {
  return readIssued(scripts, sandboxRedisKeys.purchase(transactionId), 'consumedAt');
}

/**
 * Records a transaction.
 * @param seen the JSON that was read before the change; '' for a new transaction, '*' for a change of any
 * @returns false if another call has changed the transaction since it was read
 */
export function keepTransaction(scripts: ScriptRunner, issued: Issued, seen: string): Promise<boolean> {
  return keepIssued(scripts, sandboxRedisKeys.purchase(issued.transactionId), issued, { seen, keptSeconds: KEPT_SECONDS });
}

/** The fields of a refund. @param units that are refunded in sum */
export function revokedBy({ quantity, revoked }: Issued, units: number, at: number): NonNullable<Issued['revoked']> {
  return {
    revocationDate: revoked?.revocationDate ?? at,
    revocationReason: 0,
    revocationType: units === quantity ? 'REFUND_FULL' : 'REFUND_PRORATED',
    revocationPercentage: Math.round((units / quantity) * WHOLE_PERCENTAGE),
  };
}
