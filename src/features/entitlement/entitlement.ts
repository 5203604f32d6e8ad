import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { readFields } from '../../accounts/account.ts';
import { Entitlement, entitlementFactsOf, entitlementFields, entitlementOf } from './model.ts';
import { proofOf } from './proof.ts';

export const entitlement = endpoint({
  method: 'GET',
  path: '/v1/entitlement',
  caller: 'optional',
  summary: 'What the caller may use now, and until when.',
  description:
    'The first that holds of `subscribed`, `grace` (a payment failed, the store still grants access), `trial` (one linked to the ' +
    'account), `expired` and `none`. Without a session the install is named by `?installId=` or, kinder to logs, the header ' +
    '`x-install-id`; with nobody named it is `none`. With `?proof=1` the answer for somebody named comes with a `proof`, which an ' +
    'app can verify without asking again, by the keys of `/.well-known/jwks.json`.',
  query: z.object({
    installId: OptionalInstallId,
    proof: z.literal('1', 'Must be 1, or left out').optional().meta({ description: '`1`: answer with a signed `proof`.' }),
  }),
  reply: Entitlement.extend({
    installVerified: z
      .boolean()
      .optional()
      .meta({ description: "Whether the app store vouched for this account's install; not said with nobody named." }),
    proof: z
      .string()
      .optional()
      .meta({
        description:
          'A compact JWS, ES256, of `typ` "entitlement+jwt" and `iss` "coinop". Its claims are `sub` (the accountId), `state`, `access`, ' +
          '`expiresAt`, `iat` and `exp`: 24 hours on, or when the access ends where that is sooner. An unverified report does not count in it.',
      }),
  }),
  example: `curl -s $base/v1/entitlement -H 'x-install-id: install-0001'`,
  async handle({ caller, query }, services) {
    const { config, now, proofKeys } = services;
    if (caller === undefined) return entitlementOf({}, now(), config.TRIAL_DAYS);
    const fields = await readFields(caller, [...entitlementFields, 'installVerifiedAt'], services);
    const at = now();
    const decided = entitlementOf(entitlementFactsOf(fields, config.SUBSCRIPTION_REPORTS), at, config.TRIAL_DAYS);
    const answer = { ...decided, installVerified: fields.installVerifiedAt !== '' };
    if (query.proof === undefined) return answer;
    // Signed is what the store and our own clock say: a report that nobody verified must not look verified.
    const proven = entitlementOf(entitlementFactsOf(fields, 'ignore'), at, config.TRIAL_DAYS);
    return { ...answer, proof: await proofOf(caller.accountId, proven, at, proofKeys) };
  },
});
