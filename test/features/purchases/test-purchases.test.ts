import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { audited } from '../../consistency/audited.ts';
import { codeOf, forFile, freshId, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { eventually } from '../../realtime/watcher.ts';
import { makeServerKey } from '../../server-keys.ts';
import { balanceOf, issue, signInToStore } from '../../store.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const own = await forFile(startRedis());
const capped = { STORE: 'sandbox', TEST_PURCHASES: 'capped', ADMIN_API: 'on' };
const service = await forFile(start({ redis: own.location, settings: capped }));
const production = { NODE_ENV: 'production', PUBLIC_URL: 'https://coins.example', SESSION_KEYS: `a:${'A'.repeat(43)}` };

const operator = await makeServerKey(service, ['admin'], { role: 'viewer' });

const STORES = ['google', 'apple'] as const;
type Store = (typeof STORES)[number];

/** The proof of what the store sold. */
async function sold(store: Store, order: object = {}) {
  const { purchaseToken, transaction, ...rest } = await issue(service, { kind: 'purchase', store, test: true, ...order });
  return { proof: { store, ...(store === 'google' ? { purchaseToken } : { transaction }) }, purchaseToken, ...rest };
}
const buy = (who: object, proof: object, at = service) => at.post('/v1/purchases', { ...who, ...proof });
const subscribe = (installId: string, proof: object, at = service) => at.post('/v1/subscription/purchase', { installId, ...proof });
const subscriptionOf = async (installId: string, at = service) => (await at.get(`/v1/subscription?installId=${installId}`)).body;
const nextDay = () => service.advance(DAY);
async function overCap(): Promise<number> {
  const { body } = await service.get('/metrics');
  return Number(/^coinop_test_purchases_total\{[^}]*outcome="over_cap"[^}]*\} (\d+)$/m.exec(String(body))![1]);
}
const grantedIn = (replies: readonly { status: number }[]) => replies.filter(({ status }) => status === 200).length;

describe('coins of test purchases with TEST_PURCHASES=capped', () => {
  test('are at most 1,000 a day for an account, of both stores together, and a refused purchase may be sent again on the next day', async () => {
    const installId = freshId();
    for (const store of STORES) {
      const { body } = await buy({ installId }, (await sold(store)).proof);
      expect(body).toMatchObject({ purchase: { test: true, state: 'granted', coins: 500 } });
    }
    const over = await Promise.all(STORES.map((store) => sold(store)));
    for (const { proof } of over) {
      const refused = await buy({ installId }, proof);
      expect(codeOf(refused)).toBe('403 test_purchase');
      expect(refused.body.error.message).toBe(
        'Test purchases give an account at most 1000 coins a day, and have given 1000 today. Send this purchase of 500 coins again after 00:00 UTC.',
      );
    }
    expect((await service.get(`/v1/purchases?installId=${installId}`)).body.purchases).toHaveLength(2);
    // What somebody paid for has no bound.
    const paid = await sold('google', { test: false, quantity: 10 });
    expect((await buy({ installId }, paid.proof)).body).toMatchObject({ purchase: { coins: 5000 }, balanceAfterCoins: 6000 });
    nextDay();
    for (const { proof } of over) expect((await buy({ installId }, proof)).body).toMatchObject({ purchase: { coins: 500 } });
    expect(codeOf(await buy({ installId }, (await sold('apple')).proof))).toBe('403 test_purchase');
    expect(await balanceOf(service, { installId })).toBe(7000);
  });

  test('of a purchase above the cap are never granted, and its message says so', async () => {
    const reply = await buy({ installId: freshId() }, (await sold('apple', { quantity: 3 })).proof);
    expect(reply.body.error).toMatchObject({
      code: 'test_purchase',
      field: 'transaction',
      message: 'A test purchase gives at most 1000 coins, but this one would give 1500.',
    });
  });

  test('stay within both bounds when 200 purchases come at once', async () => {
    nextDay();
    const installId = freshId();
    const proofs = await Promise.all(Array.from({ length: 200 }, async (_, index) => (await sold(STORES[index % 2]!)).proof));
    // Each purchase comes twice at once.
    const ofOne = await Promise.all(proofs.slice(0, 50).flatMap((proof) => [buy({ installId }, proof), buy({ installId }, proof)]));
    expect(await balanceOf(service, { installId })).toBe(1000);
    expect(grantedIn(ofOne)).toBe(4);
    const others = await Promise.all(proofs.slice(50).map((proof) => buy({ installId: freshId() }, proof)));
    expect(grantedIn(others)).toBe(18);
    expect(others.find(({ status }) => status === 403)!.body.error.message).toMatch(
      /^Test purchases give all accounts at most 10000 coins a day/,
    );
  });

  test('count for the account into which a guest moves', async () => {
    nextDay();
    const [guest, subject] = [freshId(), freshId()];
    const { cookies } = await signInToStore(service, subject);
    await buy({ installId: guest }, (await sold('google')).proof);
    await buy({ installId: guest }, (await sold('google')).proof);
    await signInToStore(service, subject, { installId: guest });
    const { proof } = await sold('apple');
    const send = () => service.post('/v1/purchases', proof, { cookies });
    expect(codeOf(await send())).toBe('403 test_purchase');
    const accountId = (await service.get('/v1/session', { cookies })).body.accountId as string;
    expect((await own.redis.keys('{test-coins:*')).length).toBeGreaterThan(0);
    nextDay();
    expect((await send()).body).toMatchObject({ balanceAfterCoins: 1500 });
    // A refund takes the coins back, and gives the day no room.
    const { purchaseToken, proof: refunded } = await sold('google');
    expect((await service.post('/v1/purchases', refunded, { cookies })).body).toMatchObject({ balanceAfterCoins: 2000 });
    await issue(service, { kind: 'purchase', purchaseToken, refundedQuantity: 1, notify: true });
    await eventually(async () => (await balanceOf(service, { cookies })) === 1500);
    expect(codeOf(await service.post('/v1/purchases', (await sold('google')).proof, { cookies }))).toBe('403 test_purchase');
    expect(await own.redis.hget(`{test-coins:${new Date(service.now()).toISOString().slice(0, 10)}}`, accountId)).toBe('1000');
  });

  test('of a purchase that is paid for after the cap was reached come on the next day, without the app', async () => {
    nextDay();
    const installId = freshId();
    const pending = await sold('google', { state: 'pending', quantity: 2 });
    expect((await buy({ installId }, pending.proof)).body).toMatchObject({ purchase: { state: 'pending', test: true, coins: 0 } });
    await buy({ installId }, (await sold('google')).proof);
    await issue(service, { kind: 'purchase', purchaseToken: pending.purchaseToken, state: 'purchased', notify: true });
    expect(codeOf(await buy({ installId }, pending.proof))).toBe('403 test_purchase');
    expect(await balanceOf(service, { installId })).toBe(500);
    nextDay();
    await eventually(async () => (await balanceOf(service, { installId })) === 1500);
  });

  test('of a purchase that only a notification tells of are bounded too', async () => {
    nextDay();
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 1, key: 'one' });
    const ids = (await service.get(`/v1/account/store-ids?installId=${installId}`)).body;
    const named = { google: { obfuscatedAccountId: ids.googleAccountId }, apple: { appAccountToken: ids.appleAccountToken } };
    for (const store of STORES) await sold(store, { notify: true, ...named[store] });
    await eventually(async () => (await balanceOf(service, { installId })) === 1001);
    const before = await overCap();
    for (const store of STORES) await sold(store, { notify: true, ...named[store] });
    await eventually(async () => (await overCap()) >= before + 2);
    expect(await balanceOf(service, { installId })).toBe(1001);
  });
});

describe.each(STORES)('a test subscription of %s', (store) => {
  const order = (fields: object) => sold(store, { kind: 'subscription', minutes: 3 * 24 * 60, ...fields });

  test('gives access for a day, however long it lasts, and is paid for as any other without the mark', async () => {
    const [installId, other] = [freshId(), freshId()];
    const tested = await order({});
    const expiresAt = new Date(Date.parse(tested.expiresAt) - 2 * DAY).toISOString();
    expect((await subscribe(installId, tested.proof)).body).toMatchObject({ subscribed: true, state: 'canceled', expiresAt });
    const paid = await order({ test: false });
    expect((await subscribe(other, paid.proof)).body).toMatchObject({ state: 'active', expiresAt: paid.expiresAt });
    service.advance(DAY);
    expect(await subscriptionOf(installId)).toMatchObject({ subscribed: false, state: 'expired' });
    expect((await subscriptionOf(other)).subscribed).toBe(true);
    const { body } = await service.get(`/v1/admin/accounts/${accountIdOf(installId)}/explain`, { bearer: operator.token });
    expect(body.because).toContain('The purchase of premium is a test: nobody paid for it. TEST_PURCHASES decides what it gives.');
  });

  test('is refused where the service takes none, and one that was recorded ends there', async () => {
    await using strict = await start({ redis: own.location, settings: { ...production, STORE: 'sandbox' } });
    strict.advance(service.now() - strict.now());
    const [installId, other] = [freshId(), freshId()];
    const { proof } = await order({});
    expect(codeOf(await subscribe(other, proof, strict))).toBe('403 test_purchase');
    expect((await subscribe(installId, proof)).body.subscribed).toBe(true);
    expect(codeOf(await subscribe(installId, proof, strict))).toBe('403 test_purchase');
    expect((await subscriptionOf(installId, strict)).subscribed).toBe(false);
    expect((await subscribe(other, (await order({ test: false })).proof, strict)).body.subscribed).toBe(true);
  });
});

test('a renewal of a test subscription of Apple adds nothing to its day, and buying it again does', async () => {
  const installId = freshId();
  const issued = (fields: object) => sold('apple', { kind: 'subscription', minutes: 60, ...fields });
  const { proof, originalTransactionId, expiresAt: firstEnd } = await issued({});
  expect((await subscribe(installId, proof)).body).toMatchObject({ state: 'active' });
  service.advance(DAY - 30 * MINUTE);
  const renewed = await issued({ originalTransactionId });
  expect((await subscribe(installId, renewed.proof)).body).toMatchObject({
    state: 'canceled',
    expiresAt: new Date(Date.parse(firstEnd) + DAY - 60 * MINUTE).toISOString(),
  });
  service.advance(40 * MINUTE);
  expect((await subscribe(installId, (await issued({ originalTransactionId })).proof)).body.subscribed).toBe(false);
  await issued({ originalTransactionId, state: 'expired' });
  service.advance(1);
  const again = await issued({ originalTransactionId });
  expect((await subscribe(installId, again.proof)).body).toMatchObject({ subscribed: true, state: 'active' });
});

test('the audit finds nothing in the data that these tests leave', async () => {
  expect((await audited(own.location, { now: service.now })).findings).toEqual([]);
});
