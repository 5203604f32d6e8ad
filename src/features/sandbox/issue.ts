import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { idTokenFields, issueIdToken } from './id-token.ts';
import { integrityTokenFields, issueIntegrityToken } from './integrity-token.ts';
import { issueSubscription, subscriptionFields } from './issue-subscription.ts';
import { KEY_MAKING_MS } from './keys.ts';
import { LIFECYCLE } from './subscription-lifecycle.ts';
import { PackageName } from './model.ts';
import { ofSandbox } from './sandbox.ts';
import { SANDBOX_PACKAGE_NAME } from './settings.ts';

export const sandboxIssue = endpoint({
  method: 'POST',
  path: '/sandbox/issue',
  caller: 'none',
  summary: 'Issues what an app would get from the store: an ID token, an integrity token, or a subscription.',
  description:
    'Only with STORE=sandbox. What it issues is signed by keys of the sandbox and verified by the same code as what Google issues. ' +
    'An `id_token` goes to POST /v1/account/store-provision, an `integrity_token` to POST /v1/account/store-install, the ' +
    `\`purchaseToken\` of a \`subscription\` to POST /v1/subscription/purchase.\n\nThe life of a subscription: ${LIFECYCLE}`,
  body: z.object({
    kind: z.enum(['id_token', 'integrity_token', 'subscription']).meta({ description: 'What to issue; each has fields of its own.' }),
    packageName: PackageName.optional().meta({
      description: `integrity_token, subscription: ${SANDBOX_PACKAGE_NAME} where it is left out; any other is that of a foreign app.`,
    }),
    ...idTokenFields,
    ...integrityTokenFields,
    ...subscriptionFields,
  }),
  reply: z.object({
    token: z.string().optional().meta({ description: 'id_token: the ID token.' }),
    subject: z.string().optional().meta({ description: 'id_token: whose it is.' }),
    integrityToken: z.string().optional().meta({ description: 'integrity_token: the token.' }),
    purchaseToken: z.string().optional().meta({ description: 'subscription: the token of the purchase.' }),
    productId: z.string().optional(),
    packageName: z.string().optional(),
    state: z
      .enum(['active', 'grace', 'on_hold', 'paused', 'canceled', 'expired', 'pending', 'pending_canceled'])
      .optional()
      .meta({ description: 'subscription: where it stands now.' }),
    expiresAt: z.iso.datetime().optional().meta({ description: 'id_token, subscription: when it expires, or did.' }),
    notified: z.boolean().optional().meta({ description: 'subscription, with `notify`: whether the notification was taken.' }),
  }),
  sandbox: true,
  creates: true,
  deadlineMs: KEY_MAKING_MS,
  example: `curl -s $base/sandbox/issue -H 'content-type: application/json' -d '{"kind":"subscription","state":"active","minutes":2}'`,
  handle({ body }, services) {
    const sandboxServices = ofSandbox(services);
    if (body.kind === 'id_token') return issueIdToken(body, sandboxServices);
    if (body.kind === 'integrity_token') return issueIntegrityToken(body, sandboxServices);
    return issueSubscription(body, sandboxServices);
  },
});
