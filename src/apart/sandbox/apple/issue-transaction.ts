import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { invalid } from '../../../errors.ts';
import { CONSUMABLE, RENEWABLE } from '../../../stores/apple/transactions.ts';
import { notifyAsApple, type Change } from './notifications.ts';
import { listChange } from './refunds.ts';
import { keepIssued, readIssued } from '../issued-record.ts';
import { keepTransaction, KEPT_SECONDS, revokedBy, transactionOf, type Issued } from './issued-transaction.ts';
import { knownAtOf, sandboxRedisKeys, type Order } from '../model.ts';
import type { SandboxServices } from '../sandbox-services.ts';
import { SANDBOX_PACKAGE_NAME } from '../settings.ts';

const TransactionId = z.string().regex(/^\d{1,30}$/, 'Must be a transaction id');

/** The fields of `POST /sandbox/issue` for Apple's purchases. */
export const appleFields = {
  store: z
    .enum(['google', 'apple'])
    .optional()
    .meta({ description: 'subscription, purchase: the store that sells. `google` if left out.' }),
  appAccountToken: z.uuid().optional().meta({
    description:
      "apple: the id of the buyer's account that the app gives to the store: `appleAccountToken` of `GET /v1/account/store-ids`.",
  }),
  transactionId: TransactionId.optional().meta({
    description: 'apple, purchase: changes the purchase that has this id, and signs it anew. `refundedQuantity` may change.',
  }),
  originalTransactionId: TransactionId.optional().meta({
    description:
      'apple, subscription: changes the subscription that has this id. `active` renews it for `minutes`, and `grace` gives that long to pay; ' +
      '`canceled` keeps the paid time; `on_hold`, `expired`, `refunded` and `revoked` end it.',
  }),
};

/** The states into which the sandbox can put one of Apple's subscriptions. */
export const appleStates = ['active', 'canceled', 'grace', 'on_hold', 'expired', 'refunded', 'revoked'] as const;

export interface AppleOrder extends Order, z.output<z.ZodObject<typeof appleFields>> {
  readonly kind: string;
  readonly quantity?: number | undefined;
  readonly refundedQuantity?: number | undefined;
  readonly minutes?: number | undefined;
  readonly test?: boolean | undefined;
}

const MINUTE_MS = 60_000;

/** Issues or changes a purchase or a subscription as Apple would, and signs it. */
export async function issueTransaction(order: AppleOrder, services: SandboxServices) {
  const { sandbox, scripts, now } = services;
  const isSubscription = order.kind === 'subscription';
  const field = isSubscription ? 'originalTransactionId' : 'transactionId';
  const id = order[field];
  const keyOf = isSubscription ? sandboxRedisKeys.subscription : sandboxRedisKeys.purchase;
  const before = id === undefined ? undefined : (await readIssued<Issued>(scripts, keyOf(id), 'acknowledgedAt'))?.issued;
  if (id !== undefined && before === undefined) throw invalid(field, 'Must be one that this sandbox issued; leave it out for a new one');
  const at = now();
  const issued = isSubscription ? subscriptionFor(order, before, at) : purchaseFor(order, before, at);
  await keepTransaction(scripts, issued, '*');
  if (isSubscription) await keepIssued(scripts, keyOf(issued[field]), issued, { seen: '*', keptSeconds: KEPT_SECONDS });
  const change = changeOf(order, before, issued);
  await listChange(services, issued, change);
  const { transactionId, originalTransactionId, productId, bundleId, quantity, expiresDate } = issued;
  return {
    transaction: await sandbox.appleKeys.sign(transactionOf(issued, at)),
    transactionId,
    originalTransactionId,
    productId,
    packageName: bundleId,
    ...(isSubscription ? {} : { quantity }),
    ...(expiresDate === undefined ? {} : { expiresAt: new Date(expiresDate).toISOString() }),
    ...(order.notify === true ? { notified: await notifyAsApple(services, issued, change) } : {}),
  };
}

/** The fields of a transaction that stay the same through all changes. */
function boughtFor(order: AppleOrder, before: Issued | undefined, at: number, type: string): Issued {
  for (const [field, kept] of [
    ['productId', 'productId'],
    ['packageName', 'bundleId'],
    ['quantity', 'quantity'],
    ['appAccountToken', 'appAccountToken'],
  ] as const) {
    if (before !== undefined && order[field] !== undefined && order[field] !== before[kept])
      throw invalid(field, 'A purchase keeps what it was bought for');
  }
  const knownAt = knownAtOf(order.knownAfterSeconds, at) ?? before?.knownAt;
  if (before !== undefined) return { ...before, knownAt };
  const transactionId = newTransactionId();
  return {
    transactionId,
    originalTransactionId: transactionId,
    bundleId: order.packageName ?? SANDBOX_PACKAGE_NAME,
    productId: order.productId ?? (type === RENEWABLE ? 'premium' : 'coins_500'),
    type,
    environment: order.test === true ? 'Sandbox' : 'Production',
    quantity: order.quantity ?? 1,
    purchaseDate: at,
    originalPurchaseDate: at,
    transactionReason: 'PURCHASE',
    knownAt,
    ...(order.appAccountToken === undefined ? {} : { appAccountToken: order.appAccountToken }),
  };
}

/** Ids as Apple's: numbers of 16 digits. */
const newTransactionId = (): string => `2${String(randomInt(10 ** 7)).padStart(7, '0')}${String(randomInt(10 ** 8)).padStart(8, '0')}`;

function purchaseFor(order: AppleOrder, before: Issued | undefined, at: number): Issued {
  if (order.state !== undefined && order.state !== 'purchased') throw invalid('state', 'A purchase of Apple is purchased');
  const bought = boughtFor(order, before, at, CONSUMABLE);
  const { refundedQuantity } = order;
  if (refundedQuantity === undefined) return bought;
  if (refundedQuantity > bought.quantity) throw invalid('refundedQuantity', 'Must be at most the quantity');
  if (refundedQuantity === 0) return { ...bought, revoked: undefined };
  return { ...bought, revoked: revokedBy(bought, refundedQuantity, at) };
}

function subscriptionFor(order: AppleOrder, before: Issued | undefined, at: number): Issued {
  const state = appleStates.find((known) => known === (order.state ?? 'active'));
  if (state === undefined) throw invalid('state', `A subscription of Apple is ${appleStates.join(', ')}`);
  const bought = boughtFor(order, before, at, RENEWABLE);
  const ends = at + Math.round((order.minutes ?? 5) * MINUTE_MS);
  const expiresDate = bought.expiresDate ?? ends;
  const ended = Math.min(expiresDate, at);
  const revoked = { revocationDate: at, revocationReason: 0, revocationType: state === 'refunded' ? 'REFUND_FULL' : 'FAMILY_REVOKE' };
  switch (state) {
    case 'active': {
      const transactionId = before === undefined ? bought.transactionId : newTransactionId();
      const transactionReason = before === undefined || hasEnded(before, at) ? ('PURCHASE' as const) : ('RENEWAL' as const);
      const renewed = { transactionId, transactionReason, purchaseDate: at, expiresDate: ends };
      return { ...bought, ...renewed, revoked: undefined, renewal: { autoRenewStatus: 1 } };
    }
    case 'canceled':
      return { ...bought, expiresDate, renewal: { autoRenewStatus: 0 } };
    case 'grace':
      return { ...bought, expiresDate: ended, renewal: { autoRenewStatus: 1, gracePeriodExpiresDate: ends, isInBillingRetryPeriod: true } };
    case 'on_hold':
      return { ...bought, expiresDate: ended, renewal: { autoRenewStatus: 1, isInBillingRetryPeriod: true } };
    case 'expired':
      return { ...bought, expiresDate: ended, renewal: { autoRenewStatus: 0 } };
    default:
      return { ...bought, expiresDate, revoked, renewal: { autoRenewStatus: 0 } };
  }
}

/** Whether a subscription has ended and will not renew, so that only its user can buy it again. */
function hasEnded({ expiresDate = 0, revoked, renewal }: Issued, at: number): boolean {
  return revoked !== undefined || (renewal?.autoRenewStatus === 0 && expiresDate <= at);
}

const changes: Readonly<Record<(typeof appleStates)[number], Change>> = {
  active: ['DID_RENEW'],
  canceled: ['DID_CHANGE_RENEWAL_STATUS', 'AUTO_RENEW_DISABLED'],
  grace: ['DID_FAIL_TO_RENEW', 'GRACE_PERIOD'],
  on_hold: ['DID_FAIL_TO_RENEW'],
  expired: ['EXPIRED', 'VOLUNTARY'],
  refunded: ['REFUND'],
  revoked: ['REVOKE'],
};

/** The type of the notification for a change. */
function changeOf(order: AppleOrder, before: Issued | undefined, { type, revoked, transactionId, transactionReason }: Issued): Change {
  if (type === RENEWABLE) {
    if (before === undefined) return ['SUBSCRIBED', 'INITIAL_BUY'];
    const isBought = transactionReason === 'PURCHASE' && transactionId !== before.transactionId;
    return isBought ? ['SUBSCRIBED', 'RESUBSCRIBE'] : changes[(order.state ?? 'active') as keyof typeof changes];
  }
  if (revoked !== undefined) return ['REFUND'];
  return before?.revoked === undefined ? ['ONE_TIME_CHARGE'] : ['REFUND_REVERSED'];
}
