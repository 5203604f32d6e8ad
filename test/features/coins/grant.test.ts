import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { forFile, freshId, signIn, start, type TestReply } from '../../harness.ts';
import { historyOf, signInToStore } from '../../store.ts';
import { withOrigin } from './with-origin.ts';

const service = await forFile(start());
const origin = await withOrigin(service);

const apply = (type: string, who: object, coins: number, key: string, cookies = ''): Promise<TestReply> =>
  service.post(`/v1/coins/${type}`, { ...who, coins, key }, cookies === '' ? {} : { cookies });

test('an entry of a client has no origin. One of a server key has the id of the key, one of an operator name and reason', async () => {
  const who = { installId: freshId() };
  await apply('credit', who, 30, 'a key');
  await apply('debit', who, 7, '~k1 x');
  await origin.byKey('credit', who, 30, 'win', 'abcd1234');
  await origin.byKey('purchase', who, 5, 'b');
  await origin.byKey('debit', who, 7, 'c');
  await origin.adjust(who, -8, 'd', 'a reason', 'ada');
  const word = Buffer.from('{"by":"ada","reason":"a reason"}').toString('base64url');
  expect(await origin.linesOf(who)).toEqual([
    expect.stringMatching(/^1:30 c30 [0-9a-z]{8} a key$/),
    expect.stringMatching(/^2:23 d-7 [0-9a-z]{8} ~k1 x$/),
    expect.stringMatching(/^3:53 g30 [0-9a-z]{8}~kabcd1234 win$/),
    expect.stringMatching(/^4:58 p5 [0-9a-z]{8}~kkey00001 b$/),
    expect.stringMatching(/^5:51 d-7 [0-9a-z]{8}~kkey00001 c$/),
    expect.stringMatching(new RegExp(`^6:43 a-8 [0-9a-z]{8}~o${word} d$`)),
  ]);
  const history = await historyOf(service, await signIn(service, who.installId));
  expect(history[3]).toEqual({ id: '3', type: 'grant', coins: 30, balanceAfterCoins: 53, key: 'win', at: expect.any(String) });
});

test('a credit by a server key is a grant: it replays after a rotation, and shares no key with a credit of a client', async () => {
  const who = { installId: freshId() };
  expect(await origin.byKey('credit', who, 30, 'a', 'old00001')).toEqual({ balanceAfterCoins: 30 });
  const shown = await origin.newestOf(who);
  expect([shown, 'reason' in shown]).toMatchObject([{ type: 'grant', coins: 30, key: 'a', by: 'key:old00001' }, false]);
  expect(await origin.byKey('credit', who, 30, 'a', 'new00001')).toEqual({ balanceAfterCoins: 30, replayed: true, balanceCoins: 30 });
  await apply('credit', who, 30, 'client');
  expect(await origin.byKey('credit', who, 30, 'client')).toMatchObject({ code: 'key_reused', field: 'key' });
  // A debit by a server key is a debit.
  await origin.byKey('debit', who, 10, 'spent');
  expect((await apply('debit', who, 10, 'spent')).body).toMatchObject({ replayed: true, balanceAfterCoins: 50 });
  expect((await apply('credit', who, 30, 'a')).body.error.code).toBe('key_reused');
  expect(await origin.linesOf(who)).toHaveLength(3);
});

test('CREDIT_DAILY_CAP and REQUIRE_INSTALL_PROOF do not bind a server key, whose coins do not count against the cap', async () => {
  const settings = { CREDIT_DAILY_CAP: '10', REQUIRE_INSTALL_PROOF: 'credit' };
  const bounded = await withOrigin(service, settings);
  const who = { installId: freshId() };
  expect(await bounded.byKey('credit', who, 500, 'a')).toEqual({ balanceAfterCoins: 500 });
  expect(await bounded.byKey('purchase', who, 500, 'b')).toEqual({ balanceAfterCoins: 1000 });
  expect(await service.service.redis.exists(coinKeys.credited(accountIdOf(who.installId), service.now()))).toBe(0);
  await using strict = await start({ settings });
  expect((await strict.post('/v1/coins/credit', { ...who, coins: 5, key: 'c' })).body.error.code).toBe('integrity_failed');
});

test.each([
  { kind: 'with a short ledger', more: 0 },
  { kind: 'with a ledger of more than 100 entries', more: 101 },
])('a guest that moves $kind brings its entries, and their keys stay used', async ({ more }) => {
  const guest = { installId: freshId() };
  const guestId = accountIdOf(guest.installId);
  await origin.byKey('credit', guest, 30, 'grant a', 'abcd1234');
  await origin.adjust(guest, -4, 'adjust', 'a mistake', 'ada');
  await origin.byKey('debit', guest, 6, 'spent');
  const topup = { type: 'topup', coins: 7, key: ['google', 'a'], refusesBanned: false } as const;
  await origin.bookings.book(guestId, topup);
  for (let index = 0; index < more; index++) await apply('credit', guest, 1, `more ${index}`);
  const { cookies, body } = await signInToStore(service, freshId('subject'), guest);
  const balanceCoins = 27 + more;
  expect(body).toMatchObject({ moved: true, movedCoins: balanceCoins });
  const account = { accountId: body.accountId as string };

  const types = (await historyOf(service, cookies)).map(({ type, coins, key }) => [type, coins, key]);
  expect(types.slice(-4)).toEqual([
    ['topup', 7, 'topup·google·a'],
    ['debit', -6, 'spent'],
    ['adjust', -4, 'adjust'],
    ['grant', 30, 'grant a'],
  ]);
  const lines = await service.service.redis.lrange(coinKeys.guestLedger(account.accountId, guestId), 0, 1);
  expect(lines[0]).toMatch(/^1:30 g30 \w+~kabcd1234 grant a$/);
  expect(lines[1]).toMatch(/^2:26 a-4 \w+~o\S+ adjust$/);

  const replay = { replayed: true, balanceCoins };
  expect(await origin.byKey('credit', account, 30, 'grant a', 'new00001')).toEqual({ ...replay, balanceAfterCoins: 30 });
  expect(await origin.adjust(account, -4, 'adjust', 'another reason')).toMatchObject({ ...replay, balanceAfterCoins: 26 });
  expect((await apply('debit', {}, 6, 'spent', cookies)).body).toMatchObject({ ...replay, balanceAfterCoins: 20 });
  for (const accountId of [guestId, account.accountId])
    expect(await origin.bookings.book(accountId, topup)).toMatchObject({ ...account, word: 'replayed', coins: 7, balance: balanceCoins });
  expect((await apply('credit', {}, 30, 'grant a', cookies)).body.error.code).toBe('key_reused');
  expect(await origin.adjust(account, -5, 'adjust')).toMatchObject({ code: 'key_reused' });
});

test('retention deletes entries of server keys, operators and the service together with their keys', async () => {
  await using keeping = await start({ settings: { LEDGER_RETENTION_DAYS: '30' } });
  const kept = await withOrigin(keeping, { LEDGER_RETENTION_DAYS: '30' });
  const who = { installId: freshId() };
  const accountId = accountIdOf(who.installId);
  const topup = { type: 'topup', coins: 3, key: ['google', 'a'], refusesBanned: false } as const;
  await kept.byKey('credit', who, 30, 'grant');
  await kept.adjust(who, 5, 'adjust');
  await kept.bookings.book(accountId, topup);
  await keeping.post('/v1/coins/credit', { ...who, coins: 1, key: 'own' });
  keeping.advance(31 * 86_400_000);
  for (const key of ['new', 'newer']) await kept.byKey('credit', who, 2, key);
  expect((await kept.linesOf(who)).map((line) => line.split(':')[0])).toEqual(['5', '6']);
  expect(await keeping.service.redis.hlen(`${coinKeys.index(accountId)}0`)).toBe(2);
  // The keys count as new.
  expect(await kept.byKey('credit', who, 9, 'grant')).toEqual({ balanceAfterCoins: 52 });
  expect(await kept.adjust(who, -7, 'adjust')).toMatchObject({ balanceAfterCoins: 45 });
  expect(await kept.bookings.book(accountId, topup)).toMatchObject({ word: 'done', balance: 48 });
});
