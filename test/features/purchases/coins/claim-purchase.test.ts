import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { accountIdOf } from '../../../../src/accounts/ids.ts';
import { purchaseKeys } from '../../../../src/features/purchases/coins/model.ts';
import { purchaseIdOf } from '../../../../src/features/purchases/core/purchase-ids.ts';
import { codeOf, forFile, freshId } from '../../../harness.ts';
import { withOrigin } from '../../coins/with-origin.ts';
import { until } from '../subscription/shop.ts';
import { MINUTE, openCoinShop } from './store.ts';

const shop = await forFile(openCoinShop());
const balanceBecomes = (installId: string, coins: number) => until(async () => (await shop.balance(installId)) === coins);

describe('POST /v1/purchases', () => {
  test('books what the store sold, consumes it, and answers a repetition from the record', async () => {
    const installId = freshId();
    await shop.service.post('/v1/coins/credit', { installId, coins: 7, key: 'seven' });
    const { purchaseToken } = await shop.issue({ productId: 'coins_3000', quantity: 2 });
    const first = await shop.buy(installId, purchaseToken);
    const purchase = {
      purchaseId: purchaseIdOf('google', purchaseToken),
      store: 'google',
      productId: 'coins-3000',
      quantity: 2,
      coins: 6000,
      state: 'granted',
      at: expect.any(String),
    };
    expect(first.body).toEqual({ ok: true, purchase, balanceAfterCoins: 6007 });
    expect(await shop.isConsumed(purchaseToken)).toBe(true);
    await shop.service.post('/v1/coins/debit', { installId, coins: 6, key: 'six' });
    const second = await shop.buy(installId, purchaseToken);
    expect(second.body).toEqual({ ok: true, purchase, balanceAfterCoins: 6007, replayed: true, balanceCoins: 6001 });
    expect(await shop.entries(installId)).toEqual([
      ['credit', 7],
      ['topup', 6000],
      ['debit', -6],
    ]);
    expect(await shop.purchases(installId)).toEqual([purchase]);
  });

  test('50 at once book once, and one of them is no replay', async () => {
    const installId = freshId();
    const { purchaseToken } = await shop.issue();
    const replies = await Promise.all(Array.from({ length: 50 }, () => shop.buy(installId, purchaseToken)));
    expect(new Set(replies.map(({ status, body }) => `${status} ${body.balanceAfterCoins}`))).toEqual(new Set(['200 500']));
    expect(replies.filter(({ body }) => body.replayed === undefined)).toHaveLength(1);
    expect(await shop.entries(installId)).toEqual([['topup', 500]]);
  });

  test('a token of another app, of a subscription or of nobody is bad_token', async () => {
    const foreign = await shop.issue({ packageName: 'com.other.app' });
    const subscription = await shop.issue({ kind: 'subscription' });
    for (const token of [foreign.purchaseToken, subscription.purchaseToken, 'sandbox.'.padEnd(40, 'A'), 'nonsense', '..a']) {
      const reply = await shop.buy(freshId(), token);
      expect([codeOf(reply), reply.body.error.field]).toEqual(['401 bad_token', 'purchaseToken']);
    }
  });

  test.each([
    [{ store: 'google' }, '400 invalid_request', 'purchaseToken'],
    [{ store: 'google', transactionId: '1' }, '400 invalid_request', 'purchaseToken'],
    [{ store: 'apple', purchaseToken: 'a' }, '400 invalid_request', 'transaction'],
    [{ store: 'moon', purchaseToken: 'a' }, '400 invalid_request', 'store'],
    // The store knows no such transaction.
    [{ store: 'apple', transactionId: '2000000123' }, '401 bad_token', undefined],
    [{ store: 'apple', transaction: 'a.b.c' }, '401 bad_token', undefined],
  ])('the proof %j is refused with %s', async (proof, code, field) => {
    const reply = await shop.service.post('/v1/purchases', { installId: freshId(), ...proof });
    expect([codeOf(reply), reply.body.error.issues?.[0].path]).toEqual([code, field]);
  });

  test('an unknown product is refused, and nothing of it is recorded', async () => {
    const installId = freshId();
    const { purchaseToken } = await shop.issue({ productId: 'no_such_coins' });
    expect(codeOf(await shop.buy(installId, purchaseToken))).toBe('404 product_not_found');
    expect(await shop.redis.exists(`{product-purchase:${purchaseIdOf('google', purchaseToken)}}`)).toBe(0);
    expect([await shop.isConsumed(purchaseToken), await shop.purchases(installId)]).toEqual([false, []]);
  });

  test('a pending purchase books nothing until the store says that it is paid for', async () => {
    const installId = freshId();
    const { purchaseToken } = await shop.issue({ state: 'pending', quantity: 2 });
    const pending = await shop.buy(installId, purchaseToken);
    expect(pending.body).toMatchObject({ ok: true, purchase: { state: 'pending', coins: 0, quantity: 2 }, balanceAfterCoins: 0 });
    expect(pending.body.replayed).toBeUndefined();
    expect([await shop.entries(installId), await shop.isConsumed(purchaseToken)]).toEqual([[], false]);
    expect(codeOf(await shop.buy(freshId(), purchaseToken))).toBe('409 purchase_owned');
    expect((await shop.issue({ purchaseToken, state: 'purchased', notify: true })).notified).toBe(true);
    await until(() => shop.isConsumed(purchaseToken));
    expect(await shop.entries(installId)).toEqual([['topup', 1000]]);
    expect((await shop.buy(installId, purchaseToken)).body).toMatchObject({ replayed: true, purchase: { state: 'granted', coins: 1000 } });
  });

  test('the facts that the request itself states about the purchase are ignored', async () => {
    const lies = { state: 'purchased', quantity: 1000, productId: 'coins-3000', coins: 1_000_000, refundedQuantity: 0 };
    const show = (installId: string, purchaseToken: string) =>
      shop.service.post('/v1/purchases', { installId, store: 'google', purchaseToken, ...lies });
    const [paying, buyer] = [freshId(), freshId()];
    const pending = await shop.issue({ state: 'pending' });
    expect((await show(paying, pending.purchaseToken)).body).toMatchObject({ purchase: { state: 'pending', coins: 0 } });
    const refunded = await shop.issue({ quantity: 2 });
    await shop.issue({ purchaseToken: refunded.purchaseToken, refundedQuantity: 1 });
    const purchase = { productId: 'coins-500', quantity: 2, coins: 500, refundedQuantity: 1 };
    expect((await show(buyer, refunded.purchaseToken)).body).toMatchObject({ purchase, balanceAfterCoins: 500 });
    expect([await shop.entries(paying), await shop.entries(buyer)]).toEqual([[], [['topup', 500]]]);
  });

  test('a purchase that would make the balance too high is booked once there is room', async () => {
    const installId = freshId();
    const origin = await withOrigin(shop.service);
    await origin.adjust({ installId }, 1_000_000_000_000, 'full');
    const { purchaseToken } = await shop.issue();
    const { status, body } = await shop.buy(installId, purchaseToken);
    expect([status, body.error]).toMatchObject([409, { code: 'balance_limit', balanceCoins: 1_000_000_000_000 }]);
    expect(await shop.isConsumed(purchaseToken)).toBe(false);
    await origin.adjust({ installId }, -1_000_000, 'room');
    expect((await shop.buy(installId, purchaseToken)).body).toMatchObject({ ok: true, balanceAfterCoins: 999_999_000_500 });
    expect(await shop.isConsumed(purchaseToken)).toBe(true);
  });

  test('is not granted again when retention has deleted its entry, and a refund then takes it back', async () => {
    await using brief = await openCoinShop({ settings: { LEDGER_RETENTION_DAYS: '1' } });
    const installId = freshId();
    const { purchaseToken } = await brief.issue();
    await brief.buy(installId, purchaseToken);
    brief.service.advance(3 * 24 * 60 * MINUTE);
    for (const key of ['a', 'b', 'c']) await brief.service.post('/v1/coins/credit', { installId, coins: 1, key });
    expect((await brief.entries(installId)).map(([type]) => type)).not.toContain('topup');
    expect((await brief.buy(installId, purchaseToken)).body).toMatchObject({ replayed: true, balanceAfterCoins: 500, balanceCoins: 503 });
    await brief.issue({ purchaseToken, refundedQuantity: 1 });
    expect((await brief.buy(installId, purchaseToken)).body).toMatchObject({ balanceCoins: 3 });
  });

  test.each([
    [{}, '403 test_purchase', 0],
    [{ TEST_PURCHASES: 'on' }, '200', 500],
  ])('a test purchase is marked, and in production with %j the answer is %s', async (more, code, coins) => {
    const PUBLIC_URL = 'https://coins.example';
    const production = { NODE_ENV: 'production', STORE: 'sandbox', PUBLIC_URL, SESSION_KEYS: `a:${'A'.repeat(43)}` };
    await using strict = await shop.branch({ settings: { ...production, ...more } });
    const installId = freshId();
    const { purchaseToken } = await shop.issue({ test: true });
    expect(codeOf(await strict.post('/v1/purchases', { installId, store: 'google', purchaseToken }))).toBe(code);
    expect(await shop.balance(installId)).toBe(coins);
    expect((await shop.buy(installId, purchaseToken)).body).toMatchObject({ purchase: { test: true, coins: 500 }, balanceAfterCoins: 500 });
  });
});

describe('GET /v1/purchases', () => {
  test('lists the newest first, in pages', async () => {
    const installId = freshId();
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) {
      const { purchaseToken } = await shop.issue();
      shop.service.advance(1000);
      ids.unshift((await shop.buy(installId, purchaseToken)).body.purchase.purchaseId);
    }
    const page = async (query: string) => {
      const { body } = await shop.service.get(`/v1/purchases?installId=${installId}${query}`);
      return { next: body.nextCursor, ids: body.purchases.map(({ purchaseId }: { purchaseId: string }) => purchaseId) };
    };
    const first = await page('&limit=2');
    const second = await page(`&limit=2&cursor=${first.next}`);
    const third = await page(`&limit=2&cursor=${second.next}`);
    expect([...first.ids, ...second.ids, ...third.ids]).toEqual(ids);
    expect([third.next, await page('')]).toEqual([undefined, { next: undefined, ids }]);
    for (const query of ['&cursor=x', `&cursor=${'A'.repeat(22)}`, '&limit=101', '&limit=0'])
      expect((await shop.service.get(`/v1/purchases?installId=${installId}${query}`)).status).toBe(400);
    expect((await shop.service.get(`/v1/purchases?installId=${freshId()}`)).body).toEqual({ ok: true, purchases: [] });
  });
});

describe('without the client', () => {
  test('a bound purchase is booked from its notification, once, also for an account that never was', async () => {
    const installId = freshId();
    const { purchaseToken, notified } = await shop.issue({ obfuscatedAccountId: accountIdOf(installId), notify: true });
    expect(notified).toBe(true);
    expect(await shop.entries(installId)).toEqual([['topup', 500]]);
    expect(await shop.isConsumed(purchaseToken)).toBe(true);
    expect((await shop.buy(installId, purchaseToken)).body).toMatchObject({ replayed: true, balanceAfterCoins: 500 });
  });

  test('a purchase that is bound to nobody waits for the account that sends its token', async () => {
    const { purchaseToken, notified } = await shop.issue({ notify: true });
    expect([notified, await shop.isConsumed(purchaseToken)]).toEqual([true, false]);
    expect((await shop.buy(freshId(), purchaseToken)).body.replayed).toBeUndefined();
  });

  test('a bound purchase that the store knows only later than its notification is booked, once', async () => {
    const installId = freshId();
    const order = { obfuscatedAccountId: accountIdOf(installId), knownAfterSeconds: 100, notify: true };
    const { purchaseToken, notified } = await shop.issue(order);
    expect([notified, codeOf(await shop.buy(installId, purchaseToken))]).toEqual([true, '401 bad_token']);
    const notice = purchaseKeys.notice(purchaseIdOf('google', purchaseToken));
    expect(await shop.redis.hget(notice, 'unknowns')).toBe('1');
    shop.service.advance(61_000);
    await until(async () => (await shop.redis.hget(notice, 'unknowns')) === '2');
    expect(await shop.entries(installId)).toEqual([]);
    shop.service.advance(2 * MINUTE);
    await until(() => shop.isConsumed(purchaseToken));
    expect(await shop.entries(installId)).toEqual([['topup', 500]]);
    await until(async () => (await shop.redis.exists(notice, purchaseKeys.noticesDue)) === 0);
    expect((await shop.buy(installId, purchaseToken)).body).toMatchObject({ replayed: true, balanceAfterCoins: 500 });
  });

  test('a purchase that the app sends while its notification is kept is booked once', async () => {
    const installId = freshId();
    const { purchaseToken } = await shop.issue({ obfuscatedAccountId: accountIdOf(installId), knownAfterSeconds: 3600, notify: true });
    await shop.issue({ purchaseToken, knownAfterSeconds: 0 });
    expect((await shop.buy(installId, purchaseToken)).body).toMatchObject({ balanceAfterCoins: 500 });
    shop.service.advance(61_000);
    await until(async () => (await shop.redis.exists(purchaseKeys.noticesDue)) === 0);
    expect(await shop.entries(installId)).toEqual([['topup', 500]]);
  });

  test('a pending one whose notification is lost is booked within ten minutes', async () => {
    const installId = freshId();
    const { purchaseToken } = await shop.issue({ state: 'pending' });
    await shop.buy(installId, purchaseToken);
    await shop.issue({ purchaseToken, state: 'purchased' });
    shop.service.advance(11 * MINUTE);
    await balanceBecomes(installId, 500);
  });
});

describe('refunds', () => {
  const bought = async (order: Record<string, unknown> = {}) => {
    const installId = freshId();
    const { purchaseToken } = await shop.issue(order);
    await shop.buy(installId, purchaseToken);
    return { installId, purchaseToken };
  };

  test('are taken back by notification, by units in sum, and a reversed one gives back once', async () => {
    const { installId, purchaseToken } = await bought({ quantity: 3 });
    for (const [refundedQuantity, balance, state] of [
      [1, 1000, 'granted'],
      [3, 0, 'refunded'],
      [2, 500, 'granted'],
    ] as const) {
      await shop.issue({ purchaseToken, refundedQuantity, notify: true });
      await balanceBecomes(installId, balance);
      expect(await shop.purchases(installId)).toMatchObject([{ state, coins: 1500, refundedQuantity }]);
    }
    expect(await shop.entries(installId)).toEqual([
      ['topup', 1500],
      ['refund', -500],
      ['refund', -1000],
      ['refund', 500],
    ]);
  });

  test('take the coins that were granted, even if the catalogue has changed since', async () => {
    const { installId, purchaseToken } = await bought({ quantity: 2 });
    const folder = mkdtempSync(join(tmpdir(), 'coinop-catalogue-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'catalogue.json');
    writeFileSync(file, JSON.stringify({ apps: [], products: [{ productId: 'coins-500', coins: 7, stores: { google: 'coins_500' } }] }));
    await using later = await shop.branch({ settings: { CATALOGUE_FILE: file } });
    await shop.issue({ purchaseToken, refundedQuantity: 1 });
    const { body } = await later.post('/v1/purchases', { installId, store: 'google', purchaseToken });
    expect(body).toMatchObject({ purchase: { productId: 'coins-500', coins: 1000, refundedQuantity: 1 }, balanceCoins: 500 });
    expect(await shop.entries(installId)).toEqual([
      ['topup', 1000],
      ['refund', -500],
    ]);
  });

  test('of a canceled purchase are whole', async () => {
    const { installId, purchaseToken } = await bought({ quantity: 2 });
    await shop.issue({ purchaseToken, state: 'canceled', notify: true });
    await balanceBecomes(installId, 0);
    expect(await shop.purchases(installId)).toMatchObject([{ state: 'refunded', refundedQuantity: 2 }]);
  });

  test.each([
    ['taken back', 1, 0, 1, 0],
    ['taken back in part', 2, 0, 1, 500],
    ['given back in part', 2, 2, 1, 500],
  ])('are %s by the list of voided purchases if the notification is lost', async (_, quantity, before, refundedQuantity, balance) => {
    const { installId, purchaseToken } = await bought({ quantity });
    await shop.issue({ purchaseToken, refundedQuantity: before, notify: true });
    await balanceBecomes(installId, 500 * (quantity - before));
    await shop.issue({ purchaseToken, refundedQuantity });
    shop.service.advance(15 * MINUTE);
    await balanceBecomes(installId, balance);
  });

  test('a question to the store that is dated by a clock far ahead does not stop the next ones', async () => {
    const { installId, purchaseToken } = await bought();
    await shop.redis.hset(purchaseKeys.asked('google'), 'askedAt', shop.service.now() + 400 * 24 * 60 * MINUTE);
    await shop.issue({ purchaseToken, refundedQuantity: 1 });
    shop.service.advance(15 * MINUTE);
    await balanceBecomes(installId, 0);
  });

  test.each<[string, order: object, steps: readonly ('buy' | object)[], coins: readonly number[], purchase: object]>([
    [
      'of a part before the grant leave the rest to be granted, and a reversed one grants what it had held back',
      { quantity: 3 },
      [{ refundedQuantity: 2 }, 'buy', { refundedQuantity: 0 }, 'buy'],
      [500, 1000],
      { state: 'granted', coins: 1500 },
    ],
    ['of all units before the grant leave nothing to grant', {}, [{ refundedQuantity: 1 }, 'buy'], [], { state: 'refunded', coins: 0 }],
    [
      'of a purchase before it is paid for give nothing',
      { state: 'pending' },
      ['buy', { state: 'canceled' }, 'buy'],
      [],
      { state: 'refunded', coins: 0 },
    ],
    [
      'are known at once to a client that sends its token again',
      { quantity: 2 },
      ['buy', { refundedQuantity: 2 }, 'buy'],
      [1000, -1000],
      { state: 'refunded', coins: 1000, refundedQuantity: 2 },
    ],
  ])('%s', async (_, order, steps, coins, purchase) => {
    const installId = freshId();
    const { purchaseToken } = await shop.issue({ ...order });
    for (const step of steps)
      await (step === 'buy' ? shop.buy(installId, purchaseToken) : shop.issue({ purchaseToken, ...(step as object) }));
    expect(await shop.purchases(installId)).toMatchObject([purchase]);
    expect((await shop.entries(installId)).map(([, each]) => each)).toEqual(coins);
    expect(await shop.isConsumed(purchaseToken)).toBe(coins.length > 0);
  });

  test('of coins that are spent leave a debt, which the next purchase pays', async () => {
    const { installId, purchaseToken } = await bought();
    await shop.service.post('/v1/coins/debit', { installId, coins: 300, key: 'spent' });
    await shop.issue({ purchaseToken, refundedQuantity: 1, notify: true });
    const balance = async () => (await shop.service.get(`/v1/balance?installId=${installId}`)).body;
    await expect.poll(balance).toEqual({ ok: true, balanceCoins: 0, debtCoins: 300 });
    const again = { replayed: true, balanceAfterCoins: 500, balanceCoins: 0, debtCoins: 300 };
    expect((await shop.buy(installId, purchaseToken)).body).toMatchObject(again);
    const next = await shop.buy(installId, (await shop.issue()).purchaseToken);
    expect([next.body.balanceAfterCoins, next.body.debtCoins]).toEqual([200, undefined]);
    await shop.issue({ purchaseToken, refundedQuantity: 0, notify: true });
    await balanceBecomes(installId, 700);
  });

  test('with REFUNDS=floor take the coins that are left, and a reversed one gives those back', async () => {
    await using floor = await openCoinShop({ settings: { REFUNDS: 'floor' } });
    const installId = freshId();
    const { purchaseToken } = await floor.issue({ quantity: 2 });
    await floor.buy(installId, purchaseToken);
    await floor.service.post('/v1/coins/debit', { installId, coins: 700, key: 'spent' });
    for (const refundedQuantity of [2, 0, 0]) {
      await floor.issue({ purchaseToken, refundedQuantity });
      await floor.buy(installId, purchaseToken);
    }
    expect(await floor.entries(installId)).toEqual([
      ['topup', 1000],
      ['debit', -700],
      ['refund', -300],
      ['refund', 300],
    ]);
  });
});
