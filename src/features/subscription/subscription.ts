import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { readFields } from '../../accounts/account.ts';
import { Subscription, subscriptionFactsOf, subscriptionFields, subscriptionOf } from './model.ts';

export const subscription = endpoint({
  method: 'GET',
  path: '/v1/subscription',
  caller: 'optional',
  summary: "Whether the caller's subscription gives access now, and who says so.",
  description:
    'Without a session the install is named by `?installId=` or, kinder to logs, the header `x-install-id`; with nobody named ' +
    'nobody is subscribed. The word of the store stands above any report; a report counts for 72 hours and is never `verified`.',
  query: z.object({ installId: OptionalInstallId }),
  reply: Subscription,
  example: `curl -s $base/v1/subscription -H 'x-install-id: install-0001'`,
  async handle({ caller }, services) {
    if (caller === undefined) return subscriptionOf({}, services.now());
    const fields = await readFields(caller, subscriptionFields, services);
    return subscriptionOf(subscriptionFactsOf(fields, services.config.SUBSCRIPTION_REPORTS), services.now());
  },
});
