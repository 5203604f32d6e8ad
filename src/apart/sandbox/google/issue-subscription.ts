import { z } from 'zod';
import { invalid } from '../../../errors.ts';
import {
  issuableStates,
  subscriptionAt,
  type IssuedSubscription,
  type IssuableState,
  type SubscriptionState,
} from './subscription-lifecycle.ts';
import { AccountIdGiven, knownAtOf, mayBePurchaseToken, newOrderId, newPurchaseToken, type Order } from '../model.ts';
import { keepSubscription, readSubscription } from './subscription-record.ts';
import { changeOf, deliverNotification, notificationOf } from './push-notification.ts';
import type { SandboxServices } from '../sandbox-services.ts';
import { SANDBOX_PACKAGE_NAME } from '../settings.ts';

const MINUTE_MS = 60_000;

/** Minutes of a paid period if a request names none. Google's licence testers have months of the same length. */
const DEFAULT_MINUTES = 5;

/** Minutes of the grace period if a request names none. */
const DEFAULT_GRACE_MINUTES = 1;

/** The product that is bought if a request names none. */
const DEFAULT_PRODUCT_ID = 'premium';

const Token = z.string().regex(/^[\x21-\x7e]{1,1024}$/, 'Must be 1 to 1024 visible ASCII characters');

export const subscriptionFields = {
  minutes: z
    .number()
    .min(0.01, 'Must be at least 0.01')
    .max(525_600, 'Must be at most 525600')
    .optional()
    .meta({
      description: `subscription: how long the state and each paid period after it last. ${DEFAULT_MINUTES} if left out.`,
    }),
  graceMinutes: z
    .number()
    .min(0, 'Must be at least 0')
    .max(43_200, 'Must be at most 43200')
    .optional()
    .meta({
      description: `subscription: length of the grace period after a declined renewal. ${DEFAULT_GRACE_MINUTES} if left out.`,
    }),
  renew: z
    .enum(['declined', 'paid'])
    .optional()
    .meta({ description: 'subscription: outcome of the payment when the state ends. `declined` if left out.' }),
  linkedPurchaseToken: Token.optional().meta({
    description: 'subscription: the token of the purchase that this one replaces. The sandbox does not change that purchase.',
  }),
  expiredPurchaseToken: Token.optional().meta({
    description:
      'subscription: bought again in the Play Store, outside the app, after the purchase with this token had expired. Google names that ' +
      'purchase until the new one is acknowledged (`outOfAppPurchaseContext`).',
  }),
  expiredObfuscatedAccountId: AccountIdGiven.optional().meta({
    description:
      'subscription: the account as the app named it for the expired purchase. Left out: that of `expiredPurchaseToken`, if the sandbox issued it.',
  }),
};

type SubscriptionOrder = Order &
  z.output<z.ZodObject<typeof subscriptionFields>> & {
    readonly obfuscatedAccountId?: string | undefined;
    readonly test?: boolean | undefined;
  };

interface SubscriptionReply {
  readonly purchaseToken: string;
  readonly productId: string;
  readonly packageName: string;
  readonly state: SubscriptionState;
  readonly expiresAt?: string;
  readonly notified?: boolean;
}

export async function issueSubscription(order: SubscriptionOrder, services: SandboxServices): Promise<SubscriptionReply> {
  if (order.notify === true && order.state === 'pending') throw invalid('notify', 'The store tells of a purchase once it is paid for');
  const { scripts, now } = services;
  const at = now();
  const before = order.purchaseToken === undefined ? undefined : await issuedBefore(order.purchaseToken, order, services);
  const purchaseToken = order.purchaseToken ?? newPurchaseToken();
  const issued = issuedFor({ ...order, ...(await expiredOf(order, services)) }, before, at);
  await keepSubscription(scripts, purchaseToken, issued, at);
  const { state, expiresAt } = subscriptionAt(issued, at);
  return {
    purchaseToken,
    productId: issued.productId,
    packageName: issued.packageName,
    state,
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
    ...(order.notify === true
      ? { notified: await deliverNotification(services, notificationOf(issued, purchaseToken, changeOf(issued, before, at))) }
      : {}),
  };
}

async function issuedBefore(purchaseToken: string, order: SubscriptionOrder, { scripts }: SandboxServices): Promise<IssuedSubscription> {
  const found = mayBePurchaseToken(purchaseToken) ? await readSubscription(scripts, purchaseToken) : undefined;
  if (found === undefined) throw invalid('purchaseToken', 'Must be one that this sandbox issued; leave it out for a new one');
  for (const field of ['packageName', 'productId', 'obfuscatedAccountId'] as const) {
    if (order[field] !== undefined && order[field] !== found.issued[field]) throw invalid(field, 'A purchase keeps what it was bought for');
  }
  return found.issued;
}

/** The account that the app named for an expired purchase, if the order buys that purchase again outside the app. */
async function expiredOf({ expiredPurchaseToken: token, expiredObfuscatedAccountId }: SubscriptionOrder, { scripts }: SandboxServices) {
  if (expiredObfuscatedAccountId !== undefined || token === undefined || !mayBePurchaseToken(token)) return {};
  const found = await readSubscription(scripts, token);
  return { expiredObfuscatedAccountId: found?.issued.obfuscatedAccountId };
}

/** The subscription as the order wants it. @param before the subscription before the change; undefined: a new one */
function issuedFor(order: SubscriptionOrder, before: IssuedSubscription | undefined, at: number): IssuedSubscription {
  const { minutes, graceMinutes } = order;
  const state = stateOf(order.state);
  const periodMs = minutes === undefined ? (before?.periodMs ?? DEFAULT_MINUTES * MINUTE_MS) : Math.round(minutes * MINUTE_MS);
  const linkedPurchaseToken = order.linkedPurchaseToken ?? before?.linkedPurchaseToken;
  const knownAt = knownAtOf(order.knownAfterSeconds, at) ?? before?.knownAt;
  const was = before && subscriptionAt(before, at);
  const wasPaid = was !== undefined && was.expiresAt !== undefined;
  const lasts = state === 'canceled' && minutes === undefined && was !== undefined ? (was.expiresAt ?? at) - at : periodMs;
  return {
    packageName: order.packageName ?? before?.packageName ?? SANDBOX_PACKAGE_NAME,
    productId: order.productId ?? before?.productId ?? DEFAULT_PRODUCT_ID,
    state,
    issuedAt: at,
    until: state === 'expired' ? at : at + lasts,
    startedAt: wasPaid ? before!.startedAt : startOf(state, at, periodMs),
    periodMs,
    graceMs: graceMinutes === undefined ? (before?.graceMs ?? DEFAULT_GRACE_MINUTES * MINUTE_MS) : Math.round(graceMinutes * MINUTE_MS),
    renew: order.renew ?? before?.renew ?? 'declined',
    orderId: before?.orderId ?? newOrderId(),
    renewals: (was?.renewals ?? 0) + (wasPaid && state === 'active' ? 1 : 0),
    ...givenOf({ linkedPurchaseToken, ...idsOf(order, before) }),
    ...(knownAt === undefined ? {} : { knownAt }),
    ...((order.test ?? before?.test) === true ? { test: true } : {}),
  };
}

function idsOf(order: SubscriptionOrder, before: IssuedSubscription | undefined) {
  return {
    obfuscatedAccountId: order.obfuscatedAccountId ?? before?.obfuscatedAccountId,
    expiredPurchaseToken: order.expiredPurchaseToken ?? before?.expiredPurchaseToken,
    expiredObfuscatedAccountId: order.expiredObfuscatedAccountId ?? before?.expiredObfuscatedAccountId,
  };
}

/** The fields without the undefined ones. */
function givenOf(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined));
}

function stateOf(state = 'active'): IssuableState {
  const found = issuableStates.find((known) => known === state);
  if (found === undefined) throw invalid('state', `A subscription is ${issuableStates.join(', ')}`);
  return found;
}

/** When a subscription in this state began. If the state follows a paid period, the subscription began a period earlier. */
function startOf(state: IssuableState, at: number, periodMs: number): number {
  if (state === 'pending') return at + periodMs;
  return state === 'active' || state === 'canceled' ? at : at - periodMs;
}
