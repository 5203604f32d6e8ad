import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { purchaseHash } from '../../src/features/purchases/core/purchase-ids.ts';
import { audited } from '../consistency/audited.ts';
import { openCoinShop } from '../features/purchases/coins/store.ts';
import { DAY, openShop, until } from '../features/purchases/subscription/shop.ts';
import { forFile, freshId } from '../harness.ts';
import { deskOf, logged } from './parts.ts';

/** A purchase that an operator gives to another account. */

const shop = await forFile(openCoinShop({ settings: { ADMIN_API: 'on' } }));
const floor = await forFile(openCoinShop({ settings: { ADMIN_API: 'on', REFUNDS: 'floor' } }));
const { read, change } = await deskOf(shop.service);
const desks = { shop: await deskOf(shop.service, 'economist'), floor: await deskOf(floor.service, 'economist') };

async function bought(at = shop) {
  const [before, after] = [freshId('before'), freshId('after')];
  await at.service.post('/v1/coins/credit', { installId: after, coins: 7, key: 'first' });
  const { purchaseToken, orderId } = await at.issue({});
  const { purchaseId } = (await at.buy(before, purchaseToken)).body.purchase;
  return { before, after, purchaseToken, orderId, purchaseId, from: accountIdOf(before), to: accountIdOf(after) };
}

const move = async (purchase: string, account: string, key: string, desk = desks.shop) =>
  (await desk.change(`/purchases/${purchase}/move`, { account, key })).body;
const shown = async (purchase: string) => (await read(`/purchases/${purchase}`)).body.purchase;
const balances = (...installIds: string[]) => Promise.all(installIds.map((installId) => shop.balance(installId)));

describe('a purchase of coins', () => {
  test('moves to another account with its coins once per key, and back', async () => {
    const { before, after, orderId, purchaseId, from, to } = await bought();
    const reply = await move(orderId, to, 'a');
    expect(reply).toEqual({ ok: true, purchase: purchaseId, accountId: to, movedFrom: from, coins: 500, takenCoins: 500, logged });
    expect(reply.logged).toMatchObject({
      action: 'purchases move',
      what: { purchase: purchaseId, account: to, from, coins: 500, key: 'a' },
      outcome: { word: 'done', takenCoins: 500 },
    });
    for (const account of [from, to]) expect((await read(`/log?account=${account}&limit=1`)).body.entries).toEqual([reply.logged]);
    expect([await shop.entries(before), await shop.entries(after)].map(String)).toEqual(['topup,500,refund,-500', 'credit,7,topup,500']);
    expect([await shop.purchases(before), await shop.purchases(after)]).toMatchObject([[], [{ purchaseId, coins: 500, state: 'granted' }]]);
    expect(await shown(purchaseId)).toMatchObject({
      accountId: to,
      coins: 500,
      takenCoins: 0,
      moves: [{ from, to, coins: 500, takenCoins: 500, reason: 'test' }],
    });
    expect(await move(purchaseId, to, 'a')).toMatchObject({ accountId: to, movedFrom: from, coins: 500, replayed: true });
    expect((await move(purchaseId, to, 'b')).error).toMatchObject({ code: 'invalid_request', field: 'account' });
    expect((await move(purchaseId, from, 'a')).error.code).toBe('key_reused');
    expect(await move(purchaseId, from, 'undo')).toMatchObject({ accountId: from, movedFrom: to, coins: 500 });
    expect(await balances(before, after)).toEqual([500, 7]);
    // A late repetition of the first move does not take it away again.
    expect(await move(purchaseId, to, 'a')).toMatchObject({ accountId: to, replayed: true });
    expect(await balances(before, after)).toEqual([500, 7]);
  });

  test('leaves a debt if its coins were spent, and a later refund affects the new owner', async () => {
    const { before, after, purchaseToken, purchaseId, from, to } = await bought();
    await shop.service.post('/v1/coins/debit', { installId: before, coins: 450, key: 'hat' });
    expect(await move(purchaseId, to, 'a')).toMatchObject({ coins: 500, takenCoins: 500 });
    const ofBefore = async () => (await shop.service.get(`/v1/balance?installId=${before}`)).body;
    expect(await ofBefore()).toMatchObject({ balanceCoins: 0, debtCoins: 450 });
    expect((await shop.buy(before, purchaseToken)).body.error.code).toBe('purchase_owned');
    expect((await shop.buy(after, purchaseToken)).body.purchase).toMatchObject({ purchaseId, coins: 500 });
    await shop.issue({ purchaseToken, state: 'canceled', notify: true });
    await until(async () => (await shop.balance(after)) === 7);
    expect((await shop.entries(after)).at(-1)).toEqual(['refund', -500]);
    expect(await shown(purchaseId)).toMatchObject({ state: 'refunded', takenCoins: 500 });
    // There are no coins left to move.
    expect(await move(purchaseId, from, 'undo')).toMatchObject({ coins: 0, takenCoins: 0 });
    expect(await ofBefore()).toMatchObject({ debtCoins: 450 });
  });

  test('with REFUNDS=floor takes the available coins, and still gives all', async () => {
    const { before, after, purchaseId, to } = await bought(floor);
    await floor.service.post('/v1/coins/debit', { installId: before, coins: 450, key: 'hat' });
    expect(await move(purchaseId, to, 'a', desks.floor)).toMatchObject({ coins: 500, takenCoins: 50 });
    expect([await floor.balance(before), await floor.balance(after)]).toEqual([0, 507]);
  });

  test('moved by ten operators at once to two accounts ends with one owner, who has the coins', async () => {
    const { before, after, purchaseId } = await bought();
    const other = freshId('other');
    await shop.service.post('/v1/coins/credit', { installId: other, coins: 7, key: 'first' });
    const asked = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? after : other));
    const replies = await Promise.all(asked.map((installId) => move(purchaseId, accountIdOf(installId), installId)));
    for (const { error } of replies) expect([undefined, 'invalid_request']).toContain(error?.code);
    const { accountId, moves, stuck } = await shown(purchaseId);
    expect([stuck, moves.at(-1).to]).toEqual([undefined, accountId]);
    const owner = [after, other].find((installId) => accountIdOf(installId) === accountId)!;
    const loser = owner === after ? other : after;
    expect(await balances(before, owner, loser)).toEqual([0, 507, 7]);
  });

  test('is finished by the queue if the process dies during its move', async () => {
    const { before, after, purchaseId, from, to } = await bought();
    // The state after the script: the new owner is stored, but no ledger has an entry yet.
    const moves = JSON.stringify([{ at: '1764165600000', from, to, coins: '500', key: 'a', by: 'ada', reason: 'ticket' }]);
    await shop.redis.hset(`{product-purchase:${purchaseId}}`, { owner: to, moves, transfer: `refund -500 ${from} m1` });
    expect(await shown(purchaseId)).toMatchObject({ stuck: 'unbooked' });
    await change(`/purchases/${purchaseId}/look`);
    await until(async () => (await shown(purchaseId)).stuck === undefined);
    expect(await balances(before, after)).toEqual([0, 507]);
    expect(await move(purchaseId, to, 'a')).toMatchObject({ replayed: true, takenCoins: 500 });
  });

  test('cannot be moved if it or the account is unknown, or from a deleted account', async () => {
    const { purchaseId, from, to } = await bought();
    expect((await move('GPA.0000', to, 'a')).error.code).toBe('purchase_not_found');
    expect((await move(purchaseId, accountIdOf(freshId()), 'a')).error.code).toBe('account_not_found');
    await change(`/accounts/${from}/delete`);
    await until(async () => (await shown(purchaseId)).accountId === undefined);
    expect((await move(purchaseId, to, 'a')).error.code).toBe('account_deleted');
  });
});

test('the audit finds nothing after all these moves', async () => {
  expect((await audited(shop.location)).findings).toEqual([]);
});

test('a subscription moves its access to the other account once per key, and back', async () => {
  await using store = await openShop(undefined, { ADMIN_API: 'on' });
  const desk = await deskOf(store.service, 'economist');
  const [before, after] = [freshId('before'), freshId('after')];
  await store.service.post('/v1/coins/credit', { installId: after, coins: 7, key: 'first' });
  const purchaseToken = store.sold('ACTIVE', store.service.now() + DAY);
  await store.buy(before, purchaseToken);
  const purchase = purchaseHash(purchaseToken);
  const [from, to] = [accountIdOf(before), accountIdOf(after)];
  const access = async () => [(await store.entitlement(before)).access, (await store.entitlement(after)).access];
  expect(await move(purchase, to, 'a', desk)).toEqual({ ok: true, purchase, accountId: to, movedFrom: from, logged });
  expect(await access()).toEqual([false, true]);
  expect(await move(purchase, to, 'a', desk)).toMatchObject({ replayed: true });
  expect((await move(purchase, to, 'b', desk)).error).toMatchObject({ code: 'invalid_request', field: 'account' });
  expect(await move(purchase, from, 'undo', desk)).toMatchObject({ accountId: from, movedFrom: to });
  expect(await access()).toEqual([true, false]);
  // A store account keeps the given purchase.
  await store.makeStoreAccount(after);
  await move(purchase, to, 'again', desk);
  expect((await store.buy(before, purchaseToken)).body.error.code).toBe('purchase_owned');
});
