import type { Holding } from '../../accounts/holdings.ts';
import { isoTime, valuesOf } from '../../accounts/fields.ts';
import { Entitlement, entitlementFactsOf, entitlementFields, entitlementOf, FirstRunAt, firstRunFields } from './model.ts';

/** The time of the app's first run. What the account may use follows from this, the trial and the subscription. */
export const entitlementHolding = {
  name: 'first run',
  fields: [firstRunFields],
  shown: {
    shape: { firstRunAt: FirstRunAt.optional(), entitlement: Entitlement },
    show({ fields }, { now, config: { TRIAL_DAYS, SUBSCRIPTION_REPORTS } }) {
      const facts = entitlementFactsOf(valuesOf(fields, entitlementFields), SUBSCRIPTION_REPORTS);
      return { firstRunAt: isoTime(fields['firstRunAt']), entitlement: entitlementOf(facts, now(), TRIAL_DAYS) };
    },
  },
} satisfies Holding;
