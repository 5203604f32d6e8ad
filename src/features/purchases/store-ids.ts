import { z } from 'zod';
import { checkCaller } from '../../accounts/account.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { endpoint, type Services } from '../../declare.ts';
import { appleAccountTokenOf } from './coins/model.ts';

export const storeIds = endpoint({
  method: 'GET',
  path: '/v1/account/store-ids',
  operationId: 'getStoreIds',
  caller: 'required',
  summary: "The caller's ids for app stores, which bind a purchase to the account.",
  description:
    'An app gives them to the store when its user buys: `googleAccountId` to `setObfuscatedAccountId` of Google Play Billing, ' +
    '`appleAccountToken` to `Product.PurchaseOption.appAccountToken` of StoreKit. Then only this account can claim the purchase, and its ' +
    'coins are booked when the store reports it, even if the app never sends it. Both ids are derived one-way: nobody can compute an ' +
    'installId or a session from them. The call creates nothing.',
  query: z.object({ installId: OptionalInstallId }),
  reply: z.object({
    googleAccountId: z.string().meta({ description: '22 characters.', example: 'BQ5v1mHk2nYtZ8cXw0aLpR' }),
    appleAccountToken: z.uuid().meta({ description: 'A UUID.', example: '6f1c2b7a-94d3-8e05-a1b2-c3d4e5f60718' }),
  }),
  example: `curl -s $base/v1/account/store-ids -H 'x-install-id: install-0001'`,
  async handle({ caller }, { scripts }: Pick<Services, 'scripts'>) {
    await scripts.runAs(caller, checkCaller, {}, {});
    const { accountId } = caller;
    return { googleAccountId: accountId, appleAccountToken: appleAccountTokenOf(accountId) };
  },
});
