import { z } from 'zod';
import { endpoint } from '../../../declare.ts';
import { OptionalInstallId } from '../../../accounts/ids.ts';
import { readFields } from '../../../accounts/account.ts';
import { Subscription, subscriptionFactsOf, subscriptionFields, type SubscriptionServices } from './model.ts';
import { subscriptionOf } from './subscription-state.ts';

export const subscription = endpoint({
  method: 'GET',
  path: '/v1/subscription',
  operationId: 'getSubscription',
  caller: 'optional',
  summary: "Whether the caller's subscription gives access now, and the source of that state.",
  description:
    'Without a session `?installId=` or the header `x-install-id` names the install; the header keeps it out of access logs. Without ' +
    'either the reply is `subscribed:false`. A purchase that the app store confirmed overrides a report. A report counts for 72 hours ' +
    'and is never `verified`.',
  query: z.object({ installId: OptionalInstallId }),
  reply: Subscription,
  example: `curl -s $base/v1/subscription -H 'x-install-id: install-0001'`,
  async handle({ caller }, services: SubscriptionServices) {
    if (caller === undefined) return subscriptionOf({}, services.now());
    const fields = await readFields(caller, subscriptionFields, services);
    return subscriptionOf(subscriptionFactsOf(fields, services.config.SUBSCRIPTION_REPORTS), services.now());
  },
});
