import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { openCoinShop, type CoinShop } from '../features/purchases/store.ts';
import { until } from '../features/subscription/shop.ts';
import { freshId } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';
import { logged } from './parts.ts';

let shop: CoinShop;
let bearer: string;
beforeAll(async () => {
  shop = await openCoinShop({ settings: { ADMIN_API: 'on' } });
  ({ token: bearer } = await makeServerKey(shop.service, ['admin']));
});
afterAll(() => shop[Symbol.asyncDispose]());

const look = (path: string) => shop.service.get(`/v1/admin${path}`, { bearer });

test('a purchase is found by the order number of the store and by its id, and an account shows it', async () => {
  const installId = freshId();
  const accountId = accountIdOf(installId);
  const { purchaseToken, orderId } = await shop.issue({ quantity: 2, obfuscatedAccountId: accountId });
  const { purchaseId } = (await shop.buy(installId, purchaseToken)).body.purchase;
  const time = expect.any(String);
  const purchase = {
    purchaseId,
    store: 'google',
    productId: 'coins-500',
    sku: 'coins_500',
    packageName: 'dev.coinop.sandbox',
    orderId,
    quantity: 2,
    coins: 1000,
    takenCoins: 0,
    state: 'granted',
    accountId,
    boundTo: accountId,
    at: time,
    grantedAt: time,
    checkedAt: time,
    isFinished: true,
    failedLooks: 0,
  };
  expect((await look(`/purchases/${orderId}`)).body).toEqual({ ok: true, purchase });
  const found = await shop.service.post('/v1/admin/find', { who: `order:${orderId}` }, { bearer });
  expect(found.body.accounts).toMatchObject([{ accountId, foundBy: 'order' }]);
  expect((await look(`/purchases/${purchaseId}`)).body).toEqual({ ok: true, purchase });
  expect((await look(`/accounts/${accountId}`)).body.coinPurchases).toEqual([purchase]);
  expect(JSON.stringify((await look(`/accounts/${accountId}`)).body)).not.toContain(purchaseToken);
  const unknown = await look('/purchases/GPA.0000-0000-0000-00000');
  expect([unknown.status, unknown.body.error.code]).toEqual([404, 'purchase_not_found']);
});

test('stuck purchases are listed, and an operator makes the service check them again', async () => {
  const installId = freshId();
  const { purchaseToken } = await shop.issue({ state: 'pending' });
  const { purchaseId } = (await shop.buy(installId, purchaseToken)).body.purchase;
  expect((await look('/purchases')).body.purchases).toMatchObject([{ purchaseId, stuck: 'unpaid', nextLookAt: expect.any(String) }]);
  await shop.issue({ purchaseToken, state: 'purchased' });
  const reply = await shop.service.post(`/v1/admin/purchases/${purchaseId}/look`, { reason: 'ticket 4711' }, { bearer });
  expect(reply.body).toEqual({ ok: true, purchaseId, logged });
  await until(async () => (await shop.balance(installId)) === 500);
  await until(async () => (await look('/purchases')).body.purchases.length === 0);
  const unknown = await shop.service.post('/v1/admin/purchases/GPA.0/look', { reason: 'ticket 4711' }, { bearer });
  expect(unknown.body.error.code).toBe('purchase_not_found');
  expect((await look('/log')).body.entries).toMatchObject([
    { action: 'purchases look', what: { purchase: purchaseId, account: accountIdOf(installId) }, outcome: { word: 'done' } },
  ]);
});
