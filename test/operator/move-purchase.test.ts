import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { purchaseHash } from '../../src/features/subscription/purchase-token.ts';
import { audited } from '../consistency/audited.ts';
import { openCoinShop, type CoinShop } from '../features/purchases/store.ts';
import { DAY, openShop, until } from '../features/subscription/shop.ts';
import { freshId } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';
import { logged } from './parts.ts';

/** A purchase that an operator gives to another account. */

let shop: CoinShop;
let floor: CoinShop;
let bearer: string;
let ofFloor: string;
beforeAll(async () => {
  [shop, floor] = await Promise.all([
    openCoinShop({ settings: { ADMIN_API: 'on' } }),
    openCoinShop({ settings: { ADMIN_API: 'on', REFUNDS: 'floor' } }),
  ]);
  ({ token: bearer } = await makeServerKey(shop.service, ['admin'], { role: 'economist' }));
  ({ token: ofFloor } = await makeServerKey(floor.service, ['admin'], { role: 'economist' }));
});
afterAll(() => Promise.all([shop[Symbol.asyncDispose](), floor[Symbol.asyncDispose]()]));

async function bought(at = shop) {
  const [before, after] = [freshId('before'), freshId('after')];
  await at.service.post('/v1/coins/credit', { installId: after, coins: 7, key: 'first' });
  const { purchaseToken, orderId } = await at.issue({});
  const { purchaseId } = (await at.buy(before, purchaseToken)).body.purchase;
  return { before, after, purchaseToken, orderId, purchaseId, from: accountIdOf(before), to: accountIdOf(after) };
}

const move = (purchase: string, account: string, key: string, at = shop) =>
  at.service.post(
    `/v1/admin/purchases/${purchase}/move`,
    { account, key, reason: 'ticket 4711' },
    { bearer: at === shop ? bearer : ofFloor },
  );
const shown = async (purchase: string) => (await shop.service.get(`/v1/admin/purchases/${purchase}`, { bearer })).body.purchase;

describe('a purchase of coins', () => {
  test('moves to another account with its coins once per key, and back', async () => {
    const { before, after, orderId, purchaseId, from, to } = await bought();
    const reply = await move(orderId, to, 'a');
    expect(reply.body).toEqual({ ok: true, purchase: purchaseId, accountId: to, movedFrom: from, coins: 500, takenCoins: 500, logged });
    expect(reply.body.logged).toMatchObject({
      action: 'purchases move',
      what: { purchase: purchaseId, account: to, from, coins: 500, key: 'a' },
      outcome: { word: 'done', takenCoins: 500 },
    });
    expect([await shop.entries(before), await shop.entries(after)]).toEqual([
      [
        ['topup', 500],
        ['refund', -500],
      ],
      [
        ['credit', 7],
        ['topup', 500],
      ],
    ]);
    expect([await shop.purchases(before), await shop.purchases(after)]).toMatchObject([[], [{ purchaseId, coins: 500, state: 'granted' }]]);
    expect(await shown(purchaseId)).toMatchObject({
      accountId: to,
      coins: 500,
      takenCoins: 0,
      moves: [{ from, to, coins: 500, takenCoins: 500, reason: 'ticket 4711' }],
    });
    const again = await move(purchaseId, to, 'a');
    expect(again.body).toMatchObject({ accountId: to, movedFrom: from, coins: 500, replayed: true });
    expect((await move(purchaseId, to, 'b')).body.error).toMatchObject({ code: 'invalid_request', field: 'account' });
    expect((await move(purchaseId, from, 'a')).body.error.code).toBe('key_reused');
    expect((await move(purchaseId, from, 'undo')).body).toMatchObject({ accountId: from, movedFrom: to, coins: 500 });
    expect([await shop.balance(before), await shop.balance(after)]).toEqual([500, 7]);
    // A late repetition of the first move does not take it away again.
    expect((await move(purchaseId, to, 'a')).body).toMatchObject({ accountId: to, replayed: true });
    expect([await shop.balance(before), await shop.balance(after)]).toEqual([500, 7]);
  });

  test('leaves a debt if its coins were spent, and a later refund affects the new owner', async () => {
    const { before, after, purchaseToken, purchaseId, to } = await bought();
    await shop.service.post('/v1/coins/debit', { installId: before, coins: 450, key: 'hat' });
    expect((await move(purchaseId, to, 'a')).body).toMatchObject({ coins: 500, takenCoins: 500 });
    const { body } = await shop.service.get(`/v1/balance?installId=${before}`);
    expect(body).toMatchObject({ balanceCoins: 0, debtCoins: 450 });
    expect((await shop.buy(before, purchaseToken)).body.error.code).toBe('purchase_owned');
    expect((await shop.buy(after, purchaseToken)).body.purchase).toMatchObject({ purchaseId, coins: 500 });
    await shop.issue({ purchaseToken, state: 'canceled', notify: true });
    await until(async () => (await shop.balance(after)) === 7);
    expect((await shop.entries(after)).at(-1)).toEqual(['refund', -500]);
    expect(await shown(purchaseId)).toMatchObject({ state: 'refunded', takenCoins: 500 });
    // There are no coins left to move.
    expect((await move(purchaseId, accountIdOf(before), 'undo')).body).toMatchObject({ coins: 0, takenCoins: 0 });
    expect((await shop.service.get(`/v1/balance?installId=${before}`)).body).toMatchObject({ debtCoins: 450 });
  });

  test('with REFUNDS=floor takes the available coins, and still gives all', async () => {
    const { before, after, purchaseId, to } = await bought(floor);
    await floor.service.post('/v1/coins/debit', { installId: before, coins: 450, key: 'hat' });
    expect((await move(purchaseId, to, 'a', floor)).body).toMatchObject({ coins: 500, takenCoins: 50 });
    expect([await floor.balance(before), await floor.balance(after)]).toEqual([0, 507]);
  });

  test('moved by ten operators at once to two accounts ends with one owner, who has the coins', async () => {
    const { before, purchaseId, to } = await bought();
    const other = freshId('other');
    await shop.service.post('/v1/coins/credit', { installId: other, coins: 7, key: 'first' });
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, index) => move(purchaseId, index % 2 === 0 ? to : accountIdOf(other), index % 2 === 0 ? 'a' : 'b')),
    );
    for (const { status } of replies) expect([200, 400]).toContain(status);
    const { accountId, moves, stuck } = await shown(purchaseId);
    expect(stuck).toBeUndefined();
    const balances = new Map([
      [accountIdOf(before), await shop.balance(before)],
      [to, (await shop.service.get(`/v1/admin/accounts/${to}`, { bearer })).body.balanceCoins],
      [accountIdOf(other), await shop.balance(other)],
    ]);
    expect([...balances.values()].reduce((sum, coins) => sum + coins)).toBe(514);
    expect(balances.get(accountId)).toBe(507);
    expect(moves.at(-1).to).toBe(accountId);
  });

  test('is finished by the queue if the process dies during its move', async () => {
    const { before, after, purchaseId, from, to } = await bought();
    // The state after the script: the new owner is stored, but no ledger has an entry yet.
    const key = `{product-purchase:${purchaseId}}`;
    const moves = JSON.stringify([{ at: '1764165600000', from, to, coins: '500', key: 'a', by: 'ada', reason: 'ticket' }]);
    await shop.redis.hset(key, { owner: to, moves, transfer: `refund -500 ${from} m1` });
    expect(await shown(purchaseId)).toMatchObject({ stuck: 'unbooked' });
    await shop.service.post(`/v1/admin/purchases/${purchaseId}/look`, { reason: 'stuck' }, { bearer });
    await until(async () => (await shown(purchaseId)).stuck === undefined);
    expect([await shop.balance(before), await shop.balance(after)]).toEqual([0, 507]);
    expect((await move(purchaseId, to, 'a')).body).toMatchObject({ replayed: true, takenCoins: 500 });
  });

  test('of an unknown owner, to an unknown account and of a deleted account cannot be moved', async () => {
    const { purchaseId, from, to } = await bought();
    expect((await move('GPA.0000', to, 'a')).body.error.code).toBe('purchase_not_found');
    expect((await move(purchaseId, accountIdOf(freshId()), 'a')).body.error.code).toBe('account_not_found');
    const { token } = await makeServerKey(shop.service, ['admin'], { role: 'admin' });
    await shop.service.post(`/v1/admin/accounts/${from}/delete`, { reason: 'test' }, { bearer: token });
    await until(async () => (await shown(purchaseId)).accountId === undefined);
    expect((await move(purchaseId, to, 'a')).body.error.code).toBe('account_deleted');
  });
});

test('the log of both accounts has the move', async () => {
  const { purchaseId, from, to } = await bought();
  await move(purchaseId, to, 'a');
  for (const account of [from, to]) {
    const { body } = await shop.service.get(`/v1/admin/log?account=${account}&limit=1`, { bearer });
    expect(body.entries).toMatchObject([{ action: 'purchases move', what: { purchase: purchaseId } }]);
  }
});

test('the audit finds nothing after all these moves', async () => {
  expect((await audited(shop.location)).findings).toEqual([]);
});

test('a subscription moves its access to the other account once per key, and back', async () => {
  await using store = await openShop(undefined, { ADMIN_API: 'on' });
  const { token } = await makeServerKey(store.service, ['admin'], { role: 'economist' });
  const [before, after] = [freshId('before'), freshId('after')];
  await store.service.post('/v1/coins/credit', { installId: after, coins: 7, key: 'first' });
  const purchaseToken = store.sold('ACTIVE', store.service.now() + DAY);
  await store.buy(before, purchaseToken);
  const purchase = purchaseHash(purchaseToken);
  const [from, to] = [before, after].map(accountIdOf) as [string, string];
  const give = (account: string, key: string) =>
    store.service.post(`/v1/admin/purchases/${purchase}/move`, { account, key, reason: 'ticket 4711' }, { bearer: token });
  const access = async () => [(await store.entitlement(before)).access, (await store.entitlement(after)).access];
  expect((await give(to, 'a')).body).toEqual({ ok: true, purchase, accountId: to, movedFrom: from, logged });
  expect(await access()).toEqual([false, true]);
  expect((await give(to, 'a')).body).toMatchObject({ replayed: true });
  expect((await give(to, 'b')).body.error).toMatchObject({ code: 'invalid_request', field: 'account' });
  expect((await give(from, 'undo')).body).toMatchObject({ accountId: from, movedFrom: to });
  expect(await access()).toEqual([true, false]);
  // A store account keeps the given purchase.
  await store.makeStoreAccount(after);
  await give(to, 'again');
  expect((await store.buy(before, purchaseToken)).body.error.code).toBe('purchase_owned');
});
