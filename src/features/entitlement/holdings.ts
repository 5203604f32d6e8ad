import { z } from 'zod';
import type { Holding } from '../../accounts/holdings.ts';
import { isoTime, valuesOf, type FieldValues } from '../../accounts/merge-rules.ts';
import { Entitlement, entitlementFactsOf, entitlementFields, entitlementOf, FirstRunAt, firstRunFields, giftFields } from './model.ts';

const Gift = z.object({ until: z.iso.datetime(), givenAt: z.iso.datetime() });

/**
 * The time of the app's first run, and access that operators gave. Access that operators gave, the trial and the subscription together
 * decide the account's entitlement.
 */
export const entitlementHolding = {
  name: 'first run',
  fields: [firstRunFields, giftFields],
  exported: {
    shape: {
      gift: Gift.optional().meta({ description: 'Access that the people who run the service gave. It is listed even after its end.' }),
    },
    firstPage: ({ fields }) => giftOf(fields),
  },
  shown: {
    shape: {
      firstRunAt: FirstRunAt.optional(),
      entitlement: Entitlement,
      gift: Gift.extend({ by: z.string(), reason: z.string() })
        .optional()
        .meta({ description: 'Access that an operator gave. It is listed even after its end.' }),
    },
    show({ fields }, { now, config: { TRIAL_DAYS, SUBSCRIPTION_REPORTS } }) {
      const facts = entitlementFactsOf(valuesOf(fields, entitlementFields), SUBSCRIPTION_REPORTS);
      const { gift } = giftOf(fields);
      return {
        firstRunAt: isoTime(fields['firstRunAt']),
        entitlement: entitlementOf(facts, now(), TRIAL_DAYS),
        ...(gift === undefined ? {} : { gift: { ...gift, by: fields['giftBy'] ?? '', reason: fields['giftReason'] ?? '' } }),
      };
    },
  },
} satisfies Holding;

function giftOf({ giftEndsAt, giftGivenAt }: FieldValues): { gift?: z.output<typeof Gift> } {
  const [until, givenAt] = [isoTime(giftEndsAt), isoTime(giftGivenAt)];
  return until === undefined || givenAt === undefined ? {} : { gift: { until, givenAt } };
}
