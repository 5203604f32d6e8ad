import { z } from 'zod';

/**
 * The environments whose texts are read. Transactions from Xcode and its local tests are signed with keys of their own, which anybody can
 * have.
 */
export const Environment = z.enum(['Production', 'Sandbox']);

export type Environment = z.output<typeof Environment>;

/** The environment in which nobody pays. Testers and Apple's reviewers of apps use it. */
export const SANDBOX = 'Sandbox' satisfies Environment;

const Time = z.int().min(0);

/** A transaction's id, or a product's. */
const Id = z.string().regex(/^\d{1,30}$/);

/** Percentages of refunds are given in thousandths of a percent. */
export const WHOLE_PERCENTAGE = 100_000;

/**
 * Fields that the service does not read. If one of these fields has another type, the text is not Apple's. Apple's own library refuses it
 * too.
 */
function unread(names: string, type: z.ZodType): Record<string, z.ZodType> {
  return Object.fromEntries(names.split(' ').map((name) => [name, type.optional()]));
}

const UnreadOfTransaction = z.looseObject({
  ...unread(
    'webOrderLineItemId subscriptionGroupIdentifier appAccountToken offerIdentifier storefront storefrontId currency offerDiscountType ' +
      'appTransactionId offerPeriod revocationType billingPlanType',
    z.string(),
  ),
  ...unread('revocationReason offerType price', z.number()),
  ...unread('advancedCommerceInfo commitmentInfo', z.looseObject({})),
});

/**
 * The fields of a transaction that the service reads
 * (https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload). The service stores transactions in this
 * shape, so a field that is added later has to be optional.
 */
const ReadOfTransaction = z.object({
  transactionId: Id,
  originalTransactionId: Id,
  bundleId: z.string().max(255),
  productId: z.string().regex(/^[\x21-\x7e]{1,255}$/),
  type: z.string().max(64),
  environment: Environment,
  inAppOwnershipType: z.string().max(64),
  purchaseDate: Time,
  signedDate: Time,
  quantity: z.int().min(1).max(1_000_000).default(1),
  // The id that the app gave to the store. An id in another form than coinop's is ignored.
  appAccountToken: z.string().max(64).toLowerCase().optional().catch(undefined),
  originalPurchaseDate: Time.optional(),
  transactionReason: z.string().max(64).optional(),
  expiresDate: Time.optional(),
  revocationDate: Time.optional(),
  revocationPercentage: z.int().min(0).max(WHOLE_PERCENTAGE).optional(),
  isUpgraded: z.boolean().optional(),
});

export const Transaction = UnreadOfTransaction.pipe(ReadOfTransaction);

export type Transaction = z.output<typeof Transaction>;

const UnreadOfRenewal = z.looseObject({
  ...unread(
    'autoRenewProductId productId offerIdentifier currency offerDiscountType appAccountToken appTransactionId offerPeriod renewalBillingPlanType',
    z.string(),
  ),
  ...unread('expirationIntent priceIncreaseStatus offerType recentSubscriptionStartDate renewalDate renewalPrice', z.number()),
  ...unread('eligibleWinBackOfferIds', z.array(z.string())),
  ...unread('advancedCommerceInfo commitmentInfo', z.looseObject({})),
});

/** The fields of renewal info that the service reads: https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload */
const ReadOfRenewal = z.object({
  originalTransactionId: Id,
  environment: Environment.optional(),
  signedDate: Time,
  autoRenewStatus: z.literal([0, 1]),
  gracePeriodExpiresDate: Time.optional(),
  isInBillingRetryPeriod: z.boolean().optional(),
});

export const RenewalInfo = UnreadOfRenewal.pipe(ReadOfRenewal);

export type RenewalInfo = z.output<typeof RenewalInfo>;

/** The `inAppOwnershipType` of a purchase by the user. A member of a family gets nothing for a purchase of another member. */
export const BOUGHT = 'PURCHASED';

/** The values of `type` in transactions of the products that the service sells. */
export const CONSUMABLE = 'Consumable';
export const RENEWABLE = 'Auto-Renewable Subscription';

/** The store's own id of the purchase that a transaction belongs to, as in `Sold`. */
export function soldIdOf({ type, transactionId, originalTransactionId, environment }: Transaction): string {
  return type === RENEWABLE ? `${environment}:${originalTransactionId}` : transactionId;
}

/**
 * When the user bought the subscription, in milliseconds since 1970. A renewal has the time of the first purchase. If the user buys the
 * subscription again after its end, that is a purchase of its own.
 */
export function boughtAtOf({ transactionReason, purchaseDate, originalPurchaseDate = purchaseDate }: Transaction): number {
  return transactionReason === 'PURCHASE' ? purchaseDate : originalPurchaseDate;
}

/**
 * The number of units that are refunded. Apple rounds percentages. So a number of units that differs from a whole number by no more than
 * the rounding counts as whole.
 */
export function refundedUnits({ quantity, revocationDate, revocationPercentage = WHOLE_PERCENTAGE }: Transaction): number {
  if (revocationDate === undefined) return 0;
  const units = (quantity * revocationPercentage) / WHOLE_PERCENTAGE;
  const nearest = Math.round(units);
  return Math.abs(units - nearest) <= quantity / WHOLE_PERCENTAGE ? nearest : units;
}
