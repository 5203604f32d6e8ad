import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, freshId, signIn, start } from '../../harness.ts';
import { historyOf, signInToStore } from '../../store.ts';
import { withOrigin } from './with-origin.ts';

const service = await forFile(start());
const origin = await withOrigin(service);

test('an adjustment adds or removes coins. The account sees type, coins and key, operators the reason and the name too', async () => {
  const who = { installId: freshId() };
  const accountId = accountIdOf(who.installId);
  expect(await origin.adjust(who, 50, 'a', '😀'.repeat(120), 'b'.repeat(64))).toEqual({ accountId, balanceAfterCoins: 50 });
  expect(await origin.adjust(who, -20, 'ticket 7', '  lost – “in an outage” 😀 ', 'ada')).toEqual({ accountId, balanceAfterCoins: 30 });
  const [entry] = await historyOf(service, await signIn(service, who.installId));
  expect(entry).toEqual({ id: '2', type: 'adjust', coins: -20, balanceAfterCoins: 30, key: 'ticket 7', at: expect.any(String) });
  expect(await origin.newestOf(who)).toEqual({ ...entry, by: 'ada', reason: 'lost – “in an outage” 😀' });
});

test('an adjustment keeps the balance within 0 and 10^12, and a refused one leaves its key unused', async () => {
  const who = { installId: freshId() };
  expect(await origin.adjust(who, -1, 'a')).toEqual({ code: 'insufficient_coins', field: 'coins', balanceCoins: 0 });
  expect(await origin.adjust(who, 1e12, 'a')).toMatchObject({ balanceAfterCoins: 1e12 });
  expect(await origin.adjust(who, 1, 'b')).toEqual({ code: 'balance_limit', field: 'coins', balanceCoins: 1e12 });
  expect(await origin.adjust(who, -1e12, 'b')).toMatchObject({ balanceAfterCoins: 0 });
});

test('a repeated key is a replay, also with another reason. With other coins or another operation it is refused as key_reused', async () => {
  const who = { installId: freshId() };
  await origin.adjust(who, 50, 'a', 'one reason', 'ada');
  expect(await origin.adjust(who, 50, 'a', 'another', 'bob')).toMatchObject({ replayed: true, balanceAfterCoins: 50, balanceCoins: 50 });
  expect(await origin.newestOf(who)).toMatchObject({ by: 'ada', reason: 'one reason' });
  expect(await origin.adjust(who, -50, 'a')).toMatchObject({ code: 'key_reused' });
  expect(await origin.byKey('credit', who, 50, 'a')).toMatchObject({ code: 'key_reused' });
  expect((await service.post('/v1/coins/credit', { ...who, coins: 50, key: 'a' })).body.error.code).toBe('key_reused');
  await service.post('/v1/coins/credit', { ...who, coins: 50, key: 'b' });
  expect(await origin.adjust(who, 50, 'b')).toMatchObject({ code: 'key_reused' });
  expect(await origin.linesOf(who)).toHaveLength(2);
});

test('an adjustment follows a guest that moved to its account', async () => {
  const guest = { installId: freshId() };
  await service.post('/v1/coins/credit', { ...guest, coins: 10, key: 'a' });
  const { accountId } = (await signInToStore(service, freshId('subject'), guest)).body;
  expect(await origin.adjust(guest, 5, 'b')).toEqual({ accountId, balanceAfterCoins: 15 });
  expect(await origin.adjust(guest, 5, 'b')).toMatchObject({ replayed: true, accountId });
});

test.each<[field: string, coins: number, key: string, reason: string, by: string]>([
  ['coins', 0, 'a', 'reason', 'ada'],
  ['coins', 1.5, 'a', 'reason', 'ada'],
  ['coins', 1e12 + 1, 'a', 'reason', 'ada'],
  ['coins', Number.NaN, 'a', 'reason', 'ada'],
  ['key', 1, 'a\nb', 'reason', 'ada'],
  ['key', 1, 'prize·pebble-drop·a', 'reason', 'ada'],
  ['reason', 1, 'a', '   ', 'ada'],
  ['reason', 1, 'a', 'r'.repeat(121), 'ada'],
  ['reason', 1, 'a', 'turned \u202e', 'ada'],
  ['by', 1, 'a', 'reason', ''],
  ['by', 1, 'a', 'reason', 'b'.repeat(65)],
  ['by', 1, 'a', 'reason', 'key:abcd1234'],
])('refuses a bad %s before it asks Redis: %j %j %j %j', async (field, coins, key, reason, by) => {
  const who = { installId: freshId() };
  expect(await origin.adjust(who, coins, key, reason, by)).toMatchObject({ code: 'invalid_request', field });
  expect(await origin.linesOf(who)).toEqual([]);
});
