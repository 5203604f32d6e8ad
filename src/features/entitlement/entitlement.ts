import { z } from 'zod';
import { endpoint } from '../../services.ts';
import { OptionalInstallId } from '../accounts/model.ts';
import { readFields } from '../subscription/model.ts';
import { Entitlement, entitlementFactsOf, entitlementFields, entitlementOf } from './model.ts';

export const entitlement = endpoint({
  method: 'GET',
  path: '/v1/entitlement',
  caller: 'optional',
  summary: 'What the caller may use now, and until when.',
  description:
    'The first that holds of `subscribed`, `grace` (a payment failed, the store still grants access), `trial` (one linked to the ' +
    'account), `expired` and `none`. Without a session the install is named by `?installId=` or, kinder to logs, the header ' +
    '`x-install-id`; with nobody named it is `none`.',
  query: z.object({ installId: OptionalInstallId }),
  reply: Entitlement,
  example: `curl -s $base/v1/entitlement -H 'x-install-id: install-0001'`,
  async handle({ caller }, services) {
    const { config, now } = services;
    if (caller === undefined) return entitlementOf({}, now(), config.TRIAL_DAYS);
    const fields = await readFields(caller, entitlementFields, services);
    return entitlementOf(entitlementFactsOf(fields, config.SUBSCRIPTION_REPORTS), now(), config.TRIAL_DAYS);
  },
});
