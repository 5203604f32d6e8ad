import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { appleFields, appleStates, issueTransaction } from './apple/issue-transaction.ts';
import { accountNotificationFields, issueAccountNotification } from './apple/issue-account-notification.ts';
import { idTokenFields, issueIdToken } from './issue-id-token.ts';
import { integrityTokenFields, issueIntegrityToken } from './google/issue-integrity-token.ts';
import { issuePurchase, purchaseFields } from './google/issue-purchase.ts';
import { issueSubscription, subscriptionFields } from './google/issue-subscription.ts';
import { KEY_MAKING_MS } from './signing-keys.ts';
import { issuableStates, LIFECYCLE } from './google/subscription-lifecycle.ts';
import { PackageName, ProductId } from './model.ts';
import { ofSandbox, type ServicesWithStore } from './sandbox-services.ts';
import { SANDBOX_PACKAGE_NAME } from './settings.ts';

export const sandboxIssue = endpoint({
  method: 'POST',
  path: '/sandbox/issue',
  operationId: 'sandboxIssue',
  caller: 'none',
  summary: 'Issues what an app would get from a store: an ID token, an integrity token, a purchase token, or a signed transaction.',
  description:
    'Available with STORE=sandbox only. The sandbox signs its tokens with its own keys, and the code that verifies them is the code that ' +
    "verifies Google's. Send an `id_token` to POST /v1/account/store-provision, an `integrity_token` to POST /v1/account/store-install, " +
    'the `purchaseToken` of a `subscription` to POST /v1/subscription/purchase, and that of a `purchase` to POST /v1/purchases. ' +
    'Send the `payload` of an `account_notification` to POST /v1/store/apple/account-notifications. With `store: "apple"` a `subscription` and a `purchase` have a `transaction` in its place.\n\n' +
    `Lifecycle of a subscription: ${LIFECYCLE}`,
  body: z.object({
    kind: z
      .enum(['id_token', 'integrity_token', 'subscription', 'purchase', 'account_notification'])
      .meta({ description: 'Each kind has its own fields: the description of a field begins with its kinds.' }),
    packageName: PackageName.optional().meta({
      description: `integrity_token, subscription, purchase: ${SANDBOX_PACKAGE_NAME} if left out. Any other package is a foreign app.`,
    }),
    ...idTokenFields,
    ...accountNotificationFields,
    ...integrityTokenFields,
    ...subscriptionFields,
    ...appleFields,
    state: z
      .enum([...issuableStates, 'purchased', ...appleStates])
      .optional()
      .meta({
        description:
          'subscription: any but `purchased`; `active` if left out. purchase: `purchased`, `pending` or `canceled`; `purchased` if left out. ' +
          '`canceled` refunds a purchase that was paid for. apple, subscription: any but `purchased`, `paused` and `pending`.',
      }),
    productId: ProductId.optional().meta({
      description: "subscription: `premium` if left out. purchase: the store's id of a product of the catalogue; `coins_500` if left out.",
    }),
    purchaseToken: z
      .string()
      .optional()
      .meta({
        description:
          'subscription, purchase: changes the purchase that has this token. Fields that are left out keep their values. For a ' +
          'subscription, `active` renews it, `canceled` without `minutes` stops its renewal and keeps the paid period, `expired` refunds ' +
          'it. For a purchase, `state` and `refundedQuantity` may change.',
      }),
    notify: z.boolean().optional().meta({
      description: 'subscription, purchase: pushes a notification about the change to the endpoint for notifications of the store.',
    }),
    knownAfterSeconds: z.number().min(0, 'Must be at least 0').max(86_400, 'Must be at most 86400').optional().meta({
      description:
        "subscription, purchase: until then the store's API answers 404 for it, as it may right after a purchase. 0 if left out.",
    }),
    ...purchaseFields,
  }),
  reply: z.object({
    token: z.string().optional().meta({ description: 'id_token: the ID token.' }),
    subject: z.string().optional().meta({ description: 'id_token, account_notification: the user.' }),
    authorizationCode: z.string().optional().meta({
      description: 'id_token of `apple`: the code for POST /v1/account/delete, valid for five minutes.',
    }),
    payload: z.string().optional().meta({ description: 'account_notification: what Apple would send.' }),
    integrityToken: z.string().optional().meta({ description: 'integrity_token: the token.' }),
    purchaseToken: z
      .string()
      .optional()
      .meta({ description: 'subscription, purchase: the token of the purchase.', example: 'sandbox.Rk2vYp7QxLm0TzJcW4sNbH8dGfA1uEoK' }),
    transaction: z.string().optional().meta({ description: 'apple: the signed transaction.' }),
    transactionId: z.string().optional().meta({ description: 'apple: its id.' }),
    originalTransactionId: z.string().optional().meta({ description: 'apple: the id of the first transaction of the subscription.' }),
    productId: z.string().optional().meta({ example: 'premium' }),
    packageName: z.string().optional().meta({ example: SANDBOX_PACKAGE_NAME }),
    state: z
      .enum([...issuableStates, 'pending_canceled', 'purchased'])
      .optional()
      .meta({ description: 'subscription, purchase: its state now.', example: 'active' }),
    orderId: z
      .string()
      .optional()
      .meta({ description: 'purchase: its number. Left out while the purchase is pending.', example: 'GPA.3345-1234-5678-90123' }),
    quantity: z.int().optional().meta({ description: 'purchase: units that were bought.', example: 1 }),
    refundedQuantity: z.int().optional().meta({ description: 'purchase: units that are refunded in sum.', example: 0 }),
    expiresAt: z.iso
      .datetime()
      .optional()
      .meta({ description: 'id_token, subscription: when it expires or expired.', example: '2026-11-22T12:05:00.000Z' }),
    notified: z
      .boolean()
      .optional()
      .meta({ description: 'subscription and purchase, with `notify`: whether the receiver answered the notification with 2xx.' }),
  }),
  creates: true,
  deadlineMs: KEY_MAKING_MS,
  example: `curl -s $base/sandbox/issue -H 'content-type: application/json' -d '{"kind":"subscription","state":"active","minutes":2}'`,
  handle({ body }, services: ServicesWithStore) {
    const sandboxServices = ofSandbox(services);
    if (body.kind === 'id_token') return issueIdToken(body, sandboxServices);
    if (body.kind === 'account_notification') return issueAccountNotification(body, sandboxServices);
    if (body.kind === 'integrity_token') return issueIntegrityToken(body, sandboxServices);
    if (body.store === 'apple') return issueTransaction(body, sandboxServices);
    if (body.kind === 'purchase') return issuePurchase(body, sandboxServices);
    return issueSubscription(body, sandboxServices);
  },
});
