import { expect, test } from 'vitest';
import { accountIdOf } from '../../../../src/accounts/ids.ts';
import { codeOf, forFile, freshId, type RequestOptions, start } from '../../../harness.ts';
import { balanceOf, deleteAccount, historyOf, signInToStore } from '../../../store.ts';
import { peopleOf, person, type SignedIn } from '../../sign-in/people.ts';
import { until } from '../subscription/shop.ts';
import { exportOf } from '../../../exported.ts';

// On a Cluster too, where the purchase and the accounts lie on different primaries.
const service = await forFile(start());

const issue = async (order: object = {}) => (await service.post('/sandbox/issue', { kind: 'purchase', ...order })).body;
const show = (purchaseToken: string, by: { installId?: string } & RequestOptions) => {
  const { installId, ...options } = by;
  return service.post('/v1/purchases', { installId, store: 'google', purchaseToken }, options);
};

test('50 requests of two accounts at once: one account gets the coins once, the other purchase_owned', async () => {
  const accounts = [freshId(), freshId()];
  const { purchaseToken } = await issue();
  const replies = await Promise.all(Array.from({ length: 50 }, (_, index) => show(purchaseToken, { installId: accounts[index % 2]! })));
  expect(new Set(replies.map(codeOf))).toEqual(new Set(['200', '409 purchase_owned']));
  expect((await Promise.all(accounts.map((installId) => balanceOf(service, { installId })))).toSorted()).toEqual([0, 500]);
});

test('a purchase that is bound to an account is claimed by no other', async () => {
  const [installId, other] = [freshId(), freshId()];
  const { googleAccountId, appleAccountToken } = (await service.get(`/v1/account/store-ids?installId=${installId}`)).body;
  expect(googleAccountId).toBe(accountIdOf(installId));
  expect(appleAccountToken).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const { purchaseToken } = await issue({ obfuscatedAccountId: googleAccountId });
  expect((await show(purchaseToken, { installId: other })).body.error).toMatchObject({ code: 'purchase_owned', field: 'purchaseToken' });
  expect((await show(purchaseToken, { installId })).body).toMatchObject({ ok: true, balanceAfterCoins: 500 });
  // An id that the app invented binds the purchase to nobody.
  const own = await issue({ obfuscatedAccountId: 'user-123' });
  expect((await show(own.purchaseToken, { installId: other })).status).toBe(200);
});

test('a guest takes its purchases along: a replay, a refund and a purchase that is paid for find the account', async () => {
  const installId = freshId();
  const { purchaseToken } = await issue();
  const bound = await issue({ obfuscatedAccountId: accountIdOf(installId), state: 'pending' });
  await show(purchaseToken, { installId });
  await show(bound.purchaseToken, { installId });
  const { cookies } = await signInToStore(service, freshId('user'), { installId });
  await until(async () => (await service.get('/v1/purchases', { cookies })).body.purchases.length === 2);
  expect((await show(purchaseToken, { cookies })).body).toMatchObject({ replayed: true, balanceCoins: 500 });
  expect(codeOf(await show(purchaseToken, { installId: freshId() }))).toBe('409 purchase_owned');
  await issue({ purchaseToken, refundedQuantity: 1 });
  expect((await show(purchaseToken, { cookies })).body).toMatchObject({ purchase: { state: 'refunded' }, balanceCoins: 0 });
  await issue({ purchaseToken: bound.purchaseToken, state: 'purchased' });
  expect((await show(bound.purchaseToken, { cookies })).body).toMatchObject({ purchase: { state: 'granted' }, balanceAfterCoins: 500 });
  const { coinPurchases } = await exportOf(service, { cookies });
  expect(coinPurchases.map(({ state }: { state: string }) => state).toSorted()).toEqual(['granted', 'refunded']);
  const types = (await service.get('/v1/coins/history', { cookies })).body.entries.map(({ type }: { type: string }) => type);
  expect(types).toEqual(['topup', 'refund', 'merge', 'merge', 'topup']);
});

test('a bound purchase of a guest that moved is booked for the account, without the client', async () => {
  const installId = freshId();
  const { cookies } = await signInToStore(service, freshId('user'), { installId });
  expect(await issue({ obfuscatedAccountId: accountIdOf(installId), notify: true })).toMatchObject({ notified: true });
  await until(async () => (await balanceOf(service, { cookies })) === 500);
  expect((await service.get('/v1/purchases', { cookies })).body.purchases).toHaveLength(1);
});

test('the purchases of a deleted account can be claimed by nobody, and nothing of the account stays with them', async () => {
  const installId = freshId();
  const { purchaseToken } = await issue();
  const bound = await issue({ obfuscatedAccountId: accountIdOf(installId) });
  await show(purchaseToken, { installId });
  await deleteAccount(service, { installId });
  for (const token of [purchaseToken, bound.purchaseToken])
    expect(codeOf(await show(token, { installId: freshId() }))).toBe('409 purchase_owned');
  // Its notification books nothing, and a refund has no account to debit.
  expect(await issue({ purchaseToken, refundedQuantity: 1, notify: true })).toMatchObject({ notified: true });
  expect(await issue({ obfuscatedAccountId: accountIdOf(installId), notify: true })).toMatchObject({ notified: true });
  expect(codeOf(await service.get(`/v1/balance?installId=${installId}`))).toBe('410 account_deleted');
});

test('test coins of a guest count for the account into which it moves, which lies elsewhere', async () => {
  await using capped = await start({ settings: { TEST_PURCHASES: 'capped' } });
  const [installId, other] = [freshId(), freshId()];
  const { cookies } = await signInToStore(capped, freshId('user'), { installId: other });
  const buy = async (by: { installId?: string } & RequestOptions) => {
    const { purchaseToken } = (await capped.post('/sandbox/issue', { kind: 'purchase', test: true })).body;
    const { installId: guest, ...options } = by;
    return codeOf(await capped.post('/v1/purchases', { installId: guest, store: 'google', purchaseToken }, options));
  };
  expect([await buy({ installId }), await buy({ cookies }), await buy({ cookies })]).toEqual(['200', '200', '200']);
  expect([await buy({ installId }), await buy({ cookies })]).toEqual(['200', '403 test_purchase']);
});

/** What happens while the account of the buyer is merged into another one, and the coins of the account afterwards. */
const sales: readonly [name: string, coins: number, sell: (buyer: SignedIn) => Promise<() => Promise<unknown>>][] = [
  [
    'a purchase that the buyer sends',
    500,
    async ({ cookies }) => {
      const { purchaseToken } = await issue();
      return () => show(purchaseToken, { cookies });
    },
  ],
  [
    'a purchase that only its notification tells of',
    500,
    async ({ accountId }) =>
      () =>
        issue({ obfuscatedAccountId: accountId, notify: true }),
  ],
  [
    'a refund',
    0,
    async ({ cookies }) => {
      const { purchaseToken } = await issue();
      await show(purchaseToken, { cookies });
      return () => issue({ purchaseToken, refundedQuantity: 1, notify: true });
    },
  ],
  [
    'a refund of coins that are spent',
    -200,
    async ({ cookies }) => {
      const { purchaseToken } = await issue();
      await show(purchaseToken, { cookies });
      await service.post('/v1/coins/debit', { coins: 200, key: 'spent' }, { cookies });
      return () => issue({ purchaseToken, refundedQuantity: 1, notify: true });
    },
  ],
];
test.each(sales)('%s is booked once while the account of the buyer is merged into another one', async (_, coins, sell) => {
  const { enter, add, nonceOf } = peopleOf(service);
  for (let round = 0; round < 4; round++) {
    const [one, buyer] = [await enter(person()), await enter(person('apple'))];
    const sold = await sell(buyer);
    const nonce = await nonceOf(one);
    const { confirm } = (await add(one, buyer, { nonce })).body.error;
    const [merged] = await Promise.all([add(one, buyer, { nonce, confirm }), sold()]);
    expect(merged.body.merged).toBe(true);
    const sum = async () => (await historyOf(service, one.cookies)).reduce((all, entry) => all + entry.coins, 0);
    await expect.poll(sum).toBe(coins);
    const { purchases } = (await service.get('/v1/purchases', one)).body;
    expect(purchases.map(({ state }: { state: string }) => state)).toEqual([coins === 500 ? 'granted' : 'refunded']);
    expect(await balanceOf(service, one)).toBe(Math.max(0, coins));
  }
});
