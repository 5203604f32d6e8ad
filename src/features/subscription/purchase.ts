import { z } from 'zod';
import { endpoint } from '../../services.ts';
import { OptionalInstallId } from '../accounts/model.ts';
import { sessionCheck } from '../sessions/model.ts';
import { storeUnconfigured } from '../store/model.ts';
import { Subscription } from './model.ts';

const PurchaseToken = z
  .string()
  .regex(/^[\x21-\x7e]{1,1024}$/, 'Must be 1 to 1024 visible ASCII characters')
  .meta({ description: 'The token that the store gave the app with the purchase.' });

export const purchaseSubscription = endpoint({
  method: 'POST',
  path: '/v1/subscription/purchase',
  caller: 'required',
  summary: 'Records a subscription bought in the store, once the store confirms it.',
  description:
    'Answers with the subscription as the store states it. Without a store to ask: 503 `store_unconfigured`, and nothing is recorded.',
  body: z.object({ installId: OptionalInstallId, purchaseToken: PurchaseToken }),
  reply: Subscription,
  errors: ['store_unconfigured'],
  example: `curl -s $base/v1/subscription/purchase -H 'content-type: application/json' -d '{"installId":"install-0001","purchaseToken":"token-from-the-store"}'`,
  async handle({ caller }, { scripts }) {
    // Who calls is settled first, as in every endpoint: a session that was signed out is told so.
    if (caller.session !== undefined) await scripts.runAs(caller, sessionCheck, {}, {});
    return storeUnconfigured();
  },
});
