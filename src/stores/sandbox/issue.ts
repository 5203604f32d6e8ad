import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { idTokenFields, issueIdToken } from './issue-id-token.ts';
import { integrityTokenFields, issueIntegrityToken } from './issue-integrity-token.ts';
import { issueSubscription, subscriptionFields } from './issue-subscription.ts';
import { KEY_MAKING_MS } from './signing-keys.ts';
import { LIFECYCLE } from './subscription-lifecycle.ts';
import { PackageName } from './model.ts';
import { ofSandbox, type ServicesWithStore } from './sandbox-services.ts';
import { SANDBOX_PACKAGE_NAME } from './settings.ts';

export const sandboxIssue = endpoint({
  method: 'POST',
  path: '/sandbox/issue',
  operationId: 'sandboxIssue',
  caller: 'none',
  summary: 'Issues a token that an app would get from Google: an ID token, an integrity token, or the purchase token of a subscription.',
  description:
    'Available with STORE=sandbox only. The sandbox signs its tokens with its own keys, and the code that verifies them is the code that ' +
    "verifies Google's. Send an `id_token` to POST /v1/account/store-provision, an `integrity_token` to POST /v1/account/store-install, " +
    `the \`purchaseToken\` of a \`subscription\` to POST /v1/subscription/purchase.\n\nLifecycle of a subscription: ${LIFECYCLE}`,
  body: z.object({
    kind: z
      .enum(['id_token', 'integrity_token', 'subscription'])
      .meta({ description: 'Each kind has fields of its own: the description of a field begins with its kinds.' }),
    packageName: PackageName.optional().meta({
      description: `integrity_token, subscription: ${SANDBOX_PACKAGE_NAME} if left out. Any other package is a foreign app.`,
    }),
    ...idTokenFields,
    ...integrityTokenFields,
    ...subscriptionFields,
  }),
  reply: z.object({
    token: z.string().optional().meta({ description: 'id_token: the ID token.' }),
    subject: z.string().optional().meta({ description: 'id_token: the user who signs in.' }),
    integrityToken: z.string().optional().meta({ description: 'integrity_token: the token.' }),
    purchaseToken: z
      .string()
      .optional()
      .meta({ description: 'subscription: the token of the purchase.', example: 'sandbox.Rk2vYp7QxLm0TzJcW4sNbH8dGfA1uEoK' }),
    productId: z.string().optional().meta({ example: 'premium' }),
    packageName: z.string().optional().meta({ example: SANDBOX_PACKAGE_NAME }),
    state: z
      .enum(['active', 'grace', 'on_hold', 'paused', 'canceled', 'expired', 'pending', 'pending_canceled'])
      .optional()
      .meta({ description: 'subscription: its state now.', example: 'active' }),
    expiresAt: z.iso
      .datetime()
      .optional()
      .meta({ description: 'id_token, subscription: when it expires or expired.', example: '2026-11-22T12:05:00.000Z' }),
    notified: z
      .boolean()
      .optional()
      .meta({ description: 'subscription, with `notify`: whether the receiver answered the notification with 2xx.' }),
  }),
  sandbox: true,
  creates: true,
  deadlineMs: KEY_MAKING_MS,
  example: `curl -s $base/sandbox/issue -H 'content-type: application/json' -d '{"kind":"subscription","state":"active","minutes":2}'`,
  handle({ body }, services: ServicesWithStore) {
    const sandboxServices = ofSandbox(services);
    if (body.kind === 'id_token') return issueIdToken(body, sandboxServices);
    if (body.kind === 'integrity_token') return issueIntegrityToken(body, sandboxServices);
    return issueSubscription(body, sandboxServices);
  },
});
