import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { forFile, freshId, signIn, start, type TestReply } from '../../harness.ts';
import { historyOf, signInToStore } from '../../store.ts';
import { withOrigin } from './with-origin.ts';

const service = await forFile(start());
const origin = await withOrigin(service);

type Type = 'credit' | 'purchase' | 'debit';

const apply = (type: Type, who: object, coins: number, key: string, cookies?: string): Promise<TestReply> =>
  service.post(`/v1/coins/${type}`, { ...who, coins, key }, cookies === undefined ? {} : { cookies });
const balanceOf = async (installId: string): Promise<number> => (await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins;
const typesOf = async (cookies: string): Promise<[type: string, coins: number, key: string][]> =>
  (await historyOf(service, cookies)).map(({ type, coins, key }) => [type, coins, key]);

describe('the layout of an entry', () => {
  test('an entry of a client has no origin', async () => {
    const who = { installId: freshId() };
    await apply('credit', who, 30, 'a key');
    await apply('purchase', who, 5, 'another');
    await apply('debit', who, 7, '~k1 x');
    expect(await origin.linesOf(who)).toEqual([
      expect.stringMatching(/^1:30 c30 [0-9a-z]{8} a key$/),
      expect.stringMatching(/^2:35 p5 [0-9a-z]{8} another$/),
      expect.stringMatching(/^3:28 d-7 [0-9a-z]{8} ~k1 x$/),
    ]);
  });

  test('an entry of a server key has the key’s id after its time, and one of an operator has name and reason in one word', async () => {
    const who = { installId: freshId() };
    await origin.byKey('credit', who, 30, 'a key', 'abcd1234');
    await origin.byKey('purchase', who, 5, 'b');
    await origin.byKey('debit', who, 7, 'c');
    await origin.adjust(who, -8, 'd', 'a reason', 'ada');
    const word = Buffer.from('{"by":"ada","reason":"a reason"}').toString('base64url');
    expect(await origin.linesOf(who)).toEqual([
      expect.stringMatching(/^1:30 g30 [0-9a-z]{8}~kabcd1234 a key$/),
      expect.stringMatching(/^2:35 p5 [0-9a-z]{8}~kkey00001 b$/),
      expect.stringMatching(/^3:28 d-7 [0-9a-z]{8}~kkey00001 c$/),
      expect.stringMatching(new RegExp(`^4:20 a-8 [0-9a-z]{8}~o${word} d$`)),
    ]);
  });
});

describe('a credit by a server key', () => {
  test('adds coins, shows as grant in the history, without its origin, and shows operators which key made it', async () => {
    const who = { installId: freshId() };
    expect(await origin.byKey('credit', who, 30, 'win', 'abcd1234')).toEqual({ balanceAfterCoins: 30 });
    const [entry] = await historyOf(service, await signIn(service, who.installId));
    expect(entry).toEqual({ id: '1', type: 'grant', coins: 30, balanceAfterCoins: 30, key: 'win', at: expect.any(String) });
    const shown = await origin.newestOf(who);
    expect([shown, 'reason' in shown]).toMatchObject([{ type: 'grant', coins: 30, key: 'win', by: 'key:abcd1234' }, false]);
  });

  test('replays under its key, also after the server key was rotated', async () => {
    const who = { installId: freshId() };
    await origin.byKey('credit', who, 30, 'a', 'old00001');
    await origin.byKey('debit', who, 10, 'b', 'old00001');
    const again = { balanceAfterCoins: 30, replayed: true, balanceCoins: 20 };
    expect(await origin.byKey('credit', who, 30, 'a', 'old00001')).toEqual(again);
    expect(await origin.byKey('credit', who, 30, 'a', 'new00001')).toEqual(again);
    expect((await origin.linesOf(who))[0]).toContain('~kold00001 ');
    expect(await origin.linesOf(who)).toHaveLength(2);
  });

  test('is refused with key_reused for a key that a client’s credit used, and the other way round', async () => {
    const who = { installId: freshId() };
    await apply('credit', who, 30, 'client');
    await origin.byKey('credit', who, 30, 'server');
    expect(await origin.byKey('credit', who, 30, 'client')).toMatchObject({ code: 'key_reused', field: 'key' });
    const reply = await apply('credit', who, 30, 'server');
    expect([reply.status, reply.body.error.code]).toEqual([422, 'key_reused']);
    expect(await balanceOf(who.installId)).toBe(60);
  });

  test('is not bound by CREDIT_DAILY_CAP and REQUIRE_INSTALL_PROOF, and does not count against the cap', async () => {
    const settings = { CREDIT_DAILY_CAP: '10', REQUIRE_INSTALL_PROOF: 'credit' };
    const bounded = await withOrigin(service, settings);
    const who = { installId: freshId() };
    expect(await bounded.byKey('credit', who, 500, 'a')).toEqual({ balanceAfterCoins: 500 });
    expect(await bounded.byKey('purchase', who, 500, 'b')).toEqual({ balanceAfterCoins: 1000 });
    const key = coinKeys.credited(accountIdOf(who.installId), service.now());
    expect(await service.service.redis.exists(key)).toBe(0);
    await using strict = await start({ settings });
    const refused = await strict.post('/v1/coins/credit', { ...who, coins: 5, key: 'c' });
    expect(refused.body.error.code).toBe('integrity_failed');
  });
});

describe('a purchase and a debit by a server key', () => {
  test('keep their types, and a client’s same operation with the same coin key is a replay', async () => {
    const who = { installId: freshId() };
    expect(await origin.byKey('purchase', who, 30, 'bought')).toEqual({ balanceAfterCoins: 30 });
    expect(await origin.byKey('debit', who, 10, 'spent')).toEqual({ balanceAfterCoins: 20 });
    expect((await apply('purchase', who, 30, 'bought')).body).toMatchObject({ replayed: true, balanceAfterCoins: 30, balanceCoins: 20 });
    expect((await apply('debit', who, 10, 'spent')).body).toMatchObject({ replayed: true, balanceAfterCoins: 20 });
    expect(await typesOf(await signIn(service, who.installId))).toEqual([
      ['debit', -10, 'spent'],
      ['purchase', 30, 'bought'],
    ]);
  });
});

describe('a guest that moves', () => {
  test.each([
    { kind: 'with a short ledger', more: 0 },
    { kind: 'with a ledger of more than 100 entries', more: 101 },
  ])('$kind brings its grants and adjustments, and their keys stay used', { timeout: 60_000 }, async ({ more }) => {
    const guest = { installId: freshId() };
    await origin.byKey('credit', guest, 30, 'grant a', 'abcd1234');
    await origin.adjust(guest, -4, 'adjust', 'a mistake', 'ada');
    await origin.byKey('debit', guest, 6, 'spent');
    for (let index = 0; index < more; index++) await apply('credit', guest, 1, `more ${index}`);
    const { cookies, body } = await signInToStore(service, freshId('subject'), guest);
    expect(body).toMatchObject({ moved: true, movedCoins: 20 + more });
    const account = { accountId: body.accountId as string };

    const types = await typesOf(cookies);
    expect(types.slice(-3)).toEqual([
      ['debit', -6, 'spent'],
      ['adjust', -4, 'adjust'],
      ['grant', 30, 'grant a'],
    ]);
    const lines = await service.service.redis.lrange(coinKeys.guestLedger(account.accountId, accountIdOf(guest.installId)), 0, 2);
    expect(lines[0]).toMatch(/^1:30 g30 \w+~kabcd1234 grant a$/);
    expect(lines[1]).toMatch(/^2:26 a-4 \w+~o\S+ adjust$/);

    const balanceCoins = 20 + more;
    const replay = { replayed: true, balanceCoins };
    expect(await origin.byKey('credit', account, 30, 'grant a', 'new00001')).toEqual({ ...replay, balanceAfterCoins: 30 });
    expect(await origin.byKey('debit', account, 6, 'spent')).toEqual({ ...replay, balanceAfterCoins: 20 });
    expect(await origin.adjust(account, -4, 'adjust', 'another reason')).toMatchObject({ ...replay, balanceAfterCoins: 26 });
    expect((await apply('debit', {}, 6, 'spent', cookies)).body).toMatchObject({ ...replay, balanceAfterCoins: 20 });
    expect((await apply('credit', {}, 30, 'grant a', cookies)).body.error.code).toBe('key_reused');
    expect(await origin.adjust(account, -5, 'adjust')).toMatchObject({ code: 'key_reused' });
    expect(await origin.byKey('credit', account, 4, 'adjust')).toMatchObject({ code: 'key_reused' });
  });
});

test('retention deletes entries with an origin together with their keys', async () => {
  await using keeping = await start({ settings: { LEDGER_RETENTION_DAYS: '30' } });
  const kept = await withOrigin(keeping, { LEDGER_RETENTION_DAYS: '30' });
  const who = { installId: freshId() };
  await kept.byKey('credit', who, 30, 'grant');
  await kept.adjust(who, 5, 'adjust');
  await keeping.post('/v1/coins/credit', { ...who, coins: 1, key: 'own' });
  keeping.advance(31 * 86_400_000);
  expect(await kept.byKey('credit', who, 2, 'new')).toEqual({ balanceAfterCoins: 38 });
  expect((await kept.linesOf(who)).map((line) => line.split(':')[0])).toEqual(['3', '4']);
  const buckets = await keeping.service.redis.hlen(`${coinKeys.index(accountIdOf(who.installId))}0`);
  expect(buckets).toBe(2);
  // The keys count as new.
  expect(await kept.byKey('credit', who, 9, 'grant')).toEqual({ balanceAfterCoins: 47 });
  expect(await kept.adjust(who, -7, 'adjust')).toMatchObject({ balanceAfterCoins: 40 });
});
