import { expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { openCoinShop } from '../features/purchases/coins/store.ts';
import { typeText } from '../../src/operator/shown/shown-account.ts';
import { lifeOf } from '../../src/operator/shown/shown-purchases.ts';
import { until } from '../features/purchases/subscription/shop.ts';
import { forFile, freshId } from '../harness.ts';
import { deskOf, logged } from './parts.ts';

const shop = await forFile(openCoinShop({ settings: { ADMIN_API: 'on' } }));
const { read, change, newest } = await deskOf(shop.service);

const installId = freshId();
const accountId = accountIdOf(installId);

test('a purchase is found by the order number of the store and by its id, and an account shows it', async () => {
  const { purchaseToken, orderId } = await shop.issue({ quantity: 2, obfuscatedAccountId: accountId });
  const { purchaseId } = (await shop.buy(installId, purchaseToken)).body.purchase;
  const time = expect.any(String);
  const purchase = {
    ...{ purchaseId, orderId, store: 'google', productId: 'coins-500', sku: 'coins_500', packageName: 'dev.coinop.sandbox' },
    ...{ quantity: 2, coins: 1000, takenCoins: 0, state: 'granted', accountId, boundTo: accountId },
    ...{ at: time, grantedAt: time, checkedAt: time, isFinished: true, failedLooks: 0 },
  };
  for (const name of [orderId, purchaseId]) expect((await read(`/purchases/${name}`)).body).toEqual({ ok: true, purchase });
  const { body } = await read(`/accounts/${accountId}`);
  expect(body.coinPurchases).toEqual([purchase]);
  expect(JSON.stringify(body)).not.toContain(purchaseToken);
});

test('stuck purchases are listed, and an operator makes the service check them again', async () => {
  const before = await shop.balance(installId);
  const { purchaseToken } = await shop.issue({ state: 'pending' });
  const { purchaseId } = (await shop.buy(installId, purchaseToken)).body.purchase;
  const stuck = async () => (await read('/purchases')).body.purchases;
  expect(await stuck()).toMatchObject([{ purchaseId, stuck: 'unpaid', nextLookAt: expect.any(String) }]);
  await shop.issue({ purchaseToken, state: 'purchased' });
  expect((await change(`/purchases/${purchaseId}/look`)).body).toEqual({ ok: true, purchaseId, logged });
  await until(async () => (await shop.balance(installId)) === before + 500);
  await until(async () => (await stuck()).length === 0);
  expect(await newest()).toMatchObject([
    { action: 'purchases look', what: { purchase: purchaseId, account: accountId }, outcome: { word: 'done' } },
  ]);
});

test('a refund that the store has reversed is called that, in the life of the purchase and in the ledger', async () => {
  const { purchaseToken } = await shop.issue({ obfuscatedAccountId: accountId });
  const { purchaseId } = (await shop.buy(installId, purchaseToken)).body.purchase;
  const purchase = async () => (await read(`/purchases/${purchaseId}`)).body.purchase;
  const textsOf = async (): Promise<string[]> => lifeOf(await purchase()).map(({ what }) => String(what));
  await shop.issue({ purchaseToken, refundedQuantity: 1, notify: true });
  await until(async () => (await purchase()).takenCoins === 500);
  expect(await textsOf()).toContain('the last refund was booked: 1 of 1 units, 500 coins in sum');
  await shop.issue({ purchaseToken, refundedQuantity: 0, notify: true });
  await until(async () => (await purchase()).takenCoins === 0);
  expect(await textsOf()).toContain('the refund was reversed: no unit stays refunded, and all coins that it had taken were given back');
  const { entries } = (await read(`/accounts/${accountId}/history?type=refund`)).body;
  expect(entries.map(typeText)).toEqual(['refund reversed', 'refund']);
  const { moments } = (await read(`/accounts/${accountId}/timeline?kind=coins`)).body;
  expect(moments[0].text).toMatch(/^refund reversed /);
});
