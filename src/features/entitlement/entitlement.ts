import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { readFields } from '../../accounts/account.ts';
import { Entitlement, entitlementFactsOf, entitlementFields, entitlementOf } from './model.ts';

type EntitlementServices = Pick<Services, 'scripts' | 'config' | 'proofs' | 'now' | 'wallClock'>;

export const entitlement = endpoint({
  method: 'GET',
  path: '/v1/entitlement',
  operationId: 'getEntitlement',
  caller: 'optional',
  summary: "The caller's access now, and when it ends.",
  description:
    '`state` is the first that holds of `subscribed`, `grace` (a payment failed, the store still grants access), `trial` (a trial ' +
    'linked to the account), `expired` and `none`. Without a session `?installId=` names the install, or the header `x-install-id`, ' +
    'which keeps the id out of access logs. Without a caller the state is `none`. With a caller and `?proof=1` the reply has a ' +
    '`proof`, which an app can verify offline with the keys of `/.well-known/jwks.json`.',
  query: z.object({
    installId: OptionalInstallId,
    proof: z.literal('1', 'Must be 1, or left out').optional().meta({ description: '`1`: answer with a signed `proof`.' }),
  }),
  reply: Entitlement.extend({
    installVerified: z
      .boolean()
      .optional()
      .meta({ description: "Whether the app store confirmed this account's install as genuine. Absent without a caller." }),
    proof: z
      .string()
      .optional()
      .meta({
        description:
          'A compact JWS, ES256, with `typ` "entitlement+jwt" and `iss` "coinop". Its claims are `sub` (the accountId), `state`, `access`, ' +
          '`expiresAt`, `iat` and `exp`, which is 24 hours later, or when the access ends if that is sooner. It is at most a minute old, and ignores unverified reports.',
      }),
  }).meta({
    id: 'Entitlement',
    example: {
      state: 'trial',
      access: true,
      expiresAt: '2026-11-29T12:00:00.000Z',
      firstRunAt: '2026-11-22T12:00:00.000Z',
      installVerified: false,
    },
  }),
  example: `curl -s $base/v1/entitlement -H 'x-install-id: install-0001'`,
  async handle({ caller, query }, services: EntitlementServices) {
    const { config, now, wallClock, proofs } = services;
    if (caller === undefined) return entitlementOf({}, now(), config.TRIAL_DAYS);
    const fields = await readFields(caller, [...entitlementFields, 'installVerifiedAt'], services);
    const at = now();
    const decided = entitlementOf(entitlementFactsOf(fields, config.SUBSCRIPTION_REPORTS), at, config.TRIAL_DAYS);
    const answer = { ...decided, installVerified: fields.installVerifiedAt !== '' };
    if (query.proof === undefined) return answer;
    // The proof shows only access that the app store, an operator or the server's clock gives, because an unverified report must not seem
    // verified.
    const proven = entitlementOf(entitlementFactsOf(fields, 'ignore'), at, config.TRIAL_DAYS);
    return { ...answer, proof: proofs.of(caller.accountId, proven, wallClock()) };
  },
});
