import { z } from 'zod';
import type { Holding } from '../../../accounts/holdings.ts';
import { isoTime, valuesOf } from '../../../accounts/merge-rules.ts';
import { isSetsCursor } from '../../../redis/set-pages.ts';
import { purchaseLineAuditor } from './purchase-line-auditor.ts';
import { purchaseAuditor } from './purchase-auditor.ts';
import { releasePurchases } from './finish-purchase.ts';
import { purchaseLines, RecordedPurchase, reportFields, Subscription, subscriptionFactsOf, subscriptionFields } from './model.ts';
import { subscriptionOf } from './subscription-state.ts';
import { OperatorPurchase, MOST_SHOWN, purchasesForOperator } from './operator-purchases.ts';
import { purchasesPage } from './purchases-page.ts';

/**
 * The purchases that the account recorded, with the app store's last answer about each purchase, and the app's own report of the
 * subscription.
 */
export const subscriptionHolding = {
  name: 'subscription',
  fields: [reportFields, purchaseLines],
  keys: [
    // After a move the records of the purchases still name the guest, so the guest's set stays.
    { name: 'purchases', type: 'set', life: 'lasts', whenMoved: 'stays', whenDeleted: 'goes' },
    { name: /revised:.*/, type: 'string', life: 'ends', whenMoved: 'stays', whenDeleted: 'stays' },
  ],
  erase: ({ accountId }, services) => releasePurchases(accountId, services),
  exported: {
    shape: {
      subscriptionReport: z
        .object({ subscribed: z.boolean(), at: z.iso.datetime() })
        .optional()
        .meta({ description: 'The last report of the app.' }),
      purchases: z.array(RecordedPurchase).optional().meta({
        description:
          'A purchase may be listed twice. Purchase tokens are not shown, because anybody who has a token can claim the purchase.',
      }),
    },
    firstPage({ fields }) {
      const at = isoTime(fields['reportedAt']);
      return at === undefined ? {} : { subscriptionReport: { subscribed: fields['reportedSubscribed'] === '1', at } };
    },
    pages: {
      letter: 'p',
      firstPlace: '0.0',
      isPlace: isSetsCursor,
      async read({ owners }, place, { scripts }) {
        const { purchases, cursor, reads } = await purchasesPage(owners, place, scripts);
        return { lists: { purchases }, next: cursor, reads };
      },
    },
  },
  shown: {
    shape: {
      subscription: Subscription.extend({ reportedAt: z.iso.datetime().optional() }),
      purchases: z
        .array(OperatorPurchase)
        .meta({ description: `${MOST_SHOWN} at most; those that decide about the subscription come first.` }),
    },
    async show({ fields, owners }, { scripts, now, config }, parts) {
      const facts = subscriptionFactsOf(valuesOf(fields, subscriptionFields), config.SUBSCRIPTION_REPORTS);
      return {
        subscription: { ...subscriptionOf(facts, now()), reportedAt: isoTime(fields['reportedAt']) },
        purchases: await purchasesForOperator(fields['purchases'] ?? '', owners, scripts, parts),
      };
    },
  },
  auditors: () => [purchaseAuditor, purchaseLineAuditor],
} satisfies Holding;
