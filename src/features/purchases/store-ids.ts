import { z } from 'zod';
import { checkCaller } from '../../accounts/account.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { endpoint, type Services } from '../../declare.ts';
import { table } from '../../stores/store-table.ts';
import type { StoreDeclaration } from '../../stores/store.ts';
import { idForStore, keepBuyers } from './core/buyers.ts';

type AccountIds = (typeof table)[number]['accountIds'];
type Shapes = { readonly [Ids in AccountIds as Ids['field']]: Ids['shape'] };
type Reply = { readonly [Ids in AccountIds as Ids['field']]: string };

const rows: readonly StoreDeclaration[] = table;

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
  reply: z.object(Object.fromEntries(rows.map(({ accountIds }) => [accountIds.field, accountIds.shape])) as Shapes),
  example: `curl -s $base/v1/account/store-ids -H 'x-install-id: install-0001'`,
  async handle({ caller }, { scripts, stores }: Pick<Services, 'scripts' | 'stores'>) {
    await scripts.runAs(caller, checkCaller, {}, {});
    const { accountId } = caller;
    await keepBuyers(accountId, (store) => stores.named(store) !== undefined, scripts);
    return Object.fromEntries(rows.map((row) => [row.accountIds.field, idForStore(row, accountId)])) as Reply;
  },
});
