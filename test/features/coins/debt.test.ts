import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import type { BookingOutcome } from '../../../src/features/coins/bookings.ts';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId, signIn, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { historyOf, signInToStore } from '../../store.ts';
import { ofLedgers, withOrigin } from './with-origin.ts';
import { exportOf } from '../../exported.ts';

const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location }));
const origin = await withOrigin(service);

const book = (installId: string, type: 'topup' | 'refund', coins: number, key: string, by = origin): Promise<BookingOutcome> =>
  by.bookings.book(accountIdOf(installId), { type, coins, key: ['google', key], refusesBanned: false });
const credit = async (installId: string, coins: number, key: string) =>
  (await service.post('/v1/coins/credit', { installId, coins, key })).body;
const debit = async (installId: string, coins: number, key: string) =>
  (await service.post('/v1/coins/debit', { installId, coins, key })).body;
const balanceOf = async (installId: string) => (await service.get(`/v1/balance?installId=${installId}`)).body;

/** An install that bought 50 coins, spent 30, and got a refund: it owes 30. */
async function inDebt(): Promise<string> {
  const installId = freshId();
  await book(installId, 'topup', 50, 'a');
  await debit(installId, 30, 'hat');
  expect(await book(installId, 'refund', -50, 'a')).toMatchObject({ word: 'done', coins: -50, balanceAfter: -30, balance: -30 });
  return installId;
}

test('a refund of coins that are spent leaves a debt, which coins that come in pay first, and no debit takes', async () => {
  const installId = await inDebt();
  expect(await balanceOf(installId)).toEqual({ ok: true, balanceCoins: 0, debtCoins: 30 });
  const refused = await debit(installId, 1, 'cap');
  expect(refused.error).toMatchObject({ code: 'insufficient_coins', field: 'coins', balanceCoins: 0, debtCoins: 30 });
  expect(await debit(installId, 30, 'hat')).toEqual({ ok: true, balanceAfterCoins: 20, replayed: true, balanceCoins: 0, debtCoins: 30 });
  expect(await credit(installId, 10, 'one')).toEqual({ ok: true, balanceAfterCoins: 0, debtCoins: 20 });
  expect(await book(installId, 'topup', 15, 'b')).toMatchObject({ word: 'done', balanceAfter: -5 });
  expect(await credit(installId, 5, 'two')).toEqual({ ok: true, balanceAfterCoins: 0 });
  expect(await credit(installId, 7, 'three')).toEqual({ ok: true, balanceAfterCoins: 7 });
  expect(await credit(installId, 10, 'one')).toEqual({ ok: true, balanceAfterCoins: 0, replayed: true, balanceCoins: 7 });
  expect(await book(installId, 'refund', -50, 'a')).toMatchObject({ word: 'replayed', coins: -50, balanceAfter: -30, balance: 7 });
  // The refused debit has not used its key up.
  expect(await debit(installId, 1, 'cap')).toEqual({ ok: true, balanceAfterCoins: 6 });
});

test('the history, the export and the offer of a deletion show the debt', async () => {
  const installId = await inDebt();
  const cookies = await signIn(service, installId);
  const [newest] = await historyOf(service, cookies);
  expect(newest).toMatchObject({ type: 'refund', coins: -50, balanceAfterCoins: -30, key: 'refund·google·a' });
  expect(await exportOf(service, { cookies })).toMatchObject({
    balanceCoins: 0,
    debtCoins: 30,
    entries: [{ balanceAfterCoins: -30 }, {}, {}],
  });
  const offered = await service.post('/v1/account/delete', { installId });
  expect(offered.body).toMatchObject({ deleted: false, balanceCoins: 0, debtCoins: 30 });
});

test('with REFUNDS=floor a refund takes the coins that are left, and uses its key up even if it takes none', async () => {
  const floor = await withOrigin(service, { REFUNDS: 'floor' });
  const installId = freshId();
  await book(installId, 'topup', 30, 'a', floor);
  expect(await book(installId, 'refund', -50, 'a', floor)).toMatchObject({ word: 'done', coins: -30, balanceAfter: 0 });
  expect(await book(installId, 'refund', -50, 'b', floor)).toMatchObject({ word: 'done', coins: 0, balanceAfter: 0 });
  await book(installId, 'topup', 9, 'c', floor);
  expect(await book(installId, 'refund', -50, 'b', floor)).toMatchObject({ word: 'replayed', coins: 0, balance: 9 });
  // A debt from before the change of the setting stays.
  await book(installId, 'refund', -19, 'd');
  expect(await book(installId, 'refund', -5, 'e', floor)).toMatchObject({ word: 'done', coins: 0, balanceAfter: -10 });
});

test.each([
  ['small', 0],
  ['large', 120],
])('the debt of a guest with a %s ledger goes along as a negative merge, and coins of one side pay debts of the other', async (_, more) => {
  const [indebted, rich, subject] = [await inDebt(), freshId(), freshId('subject')];
  for (let index = 0; index < more; index++) await book(indebted, 'refund', index % 2 === 0 ? -1 : 1, `more-${index}`);
  const { accountId } = (await signInToStore(service, subject)).body;
  await origin.byKey('credit', { accountId }, 20, 'welcome');
  const first = await signInToStore(service, subject, { installId: indebted });
  expect(first.body).toMatchObject({ moved: true, movedCoins: 0, movedDebtCoins: 30 });
  const { cookies } = first;
  expect((await service.get('/v1/balance', { cookies })).body).toEqual({ ok: true, balanceCoins: 0, debtCoins: 10 });
  const merges = (await historyOf(service, cookies)).filter(({ type }) => type === 'merge');
  expect(merges.map(({ coins, balanceAfterCoins }) => [coins, balanceAfterCoins])).toEqual([
    [-30, -10],
    [30, 0],
  ]);
  expect(await book(indebted, 'refund', -50, 'a')).toMatchObject({ word: 'replayed', coins: -50, balanceAfter: -30, balance: -10 });
  await credit(rich, 4, 'a');
  const second = await signInToStore(service, subject, { installId: rich });
  expect(second.body).toMatchObject({ moved: true, movedCoins: 4 });
  expect(second.body.movedDebtCoins).toBeUndefined();
  expect((await service.get('/v1/balance', { cookies })).body).toMatchObject({ balanceCoins: 0, debtCoins: 6 });
});

test('the audit finds nothing wrong with debts, and reports their sum', async () => {
  await inDebt();
  const { findings, counts } = await audited(own.location);
  expect(ofLedgers(findings)).toEqual([]);
  expect(counts.checked['coins owed']).toBeGreaterThanOrEqual(30);
});
