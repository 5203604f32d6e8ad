import { expect, test } from 'vitest';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { startRedis, type OwnRedis } from '../../own-redis.ts';
import { historyOf, signInToStore } from '../../store.ts';

const redis = await forFile(startRedis());
const service = await forFile(start({ redis: redis.location }));

const credit = (who: object, coins: number, key: string, cookies?: string) =>
  service.post('/v1/coins/credit', { ...who, coins, key }, cookies === undefined ? {} : { cookies });

/** Moves a new guest with this many ledger entries into the account of a store user. Returns the session cookie. */
async function moveIn(subject: string, entries: number, prefix: string): Promise<string> {
  const installId = freshId();
  for (let index = 0; index < entries; index++) await credit({ installId }, 1 + index, `${prefix}-${index}`);
  return (await signInToStore(service, subject, { installId })).cookies;
}

test(
  'the history lists the entries of the account and of guests with 100 and 101 entries once and by time',
  { timeout: 60_000 },
  async () => {
    const subject = freshId('subject');
    // The move adds one entry to the guest's ledger.
    await moveIn(subject, 100, 'filed');
    const cookies = await moveIn(subject, 101, 'large');
    await credit({}, 5, 'own', cookies);
    const whole = await historyOf(service, cookies, 100);
    expect(whole).toHaveLength(1 + 2 + 101 + 102);
    expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length);
    const times = whole.map(({ at }) => Date.parse(at));
    expect(times).toEqual(times.toSorted((one, other) => other - one));
    for (const limit of [1, 7, 33]) expect(await historyOf(service, cookies, limit)).toEqual(whole);
    for (const [prefix, count] of [
      ['filed', 100],
      ['large', 101],
    ] as const) {
      expect((await credit({}, 1, `${prefix}-0`, cookies)).body).toMatchObject({ replayed: true, balanceAfterCoins: 1 });
      expect((await credit({}, count, `${prefix}-${count - 1}`, cookies)).body).toMatchObject({ replayed: true });
      expect((await credit({}, 999, `${prefix}-0`, cookies)).body.error.code).toBe('key_reused');
    }
  },
);

test('an account accepts 50 guests with more than 100 entries, and then only smaller ones', { timeout: 60_000 }, async () => {
  const subject = freshId('subject');
  const { body } = await signInToStore(service, subject);
  await service.service.redis.set(
    standingKey(body.accountId),
    Array.from({ length: 50 }, (_, index) => `${freshId('g').padEnd(22, 'x')} 0*${index + 1}\n`).join(''),
  );
  const installId = freshId();
  for (let index = 0; index < 101; index++) await credit({ installId }, 1, `key-${index}`);
  expect((await signInToStore(service, subject, { installId })).body).toMatchObject({ moved: false, notMoved: 'too_many_guests' });
  expect((await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(101);
  const small = freshId();
  await credit({ installId: small }, 1, 'key');
  expect((await signInToStore(service, subject, { installId: small })).body).toMatchObject({ moved: true });
});

test('a key that several guests used replays each of their operations and refuses others with key_reused', async () => {
  const subject = freshId('subject');
  let cookies = '';
  for (const coins of [10, 20, 10, 30]) {
    const installId = freshId();
    await credit({ installId }, 100, 'first');
    await service.post('/v1/coins/debit', { installId, coins, key: 'welcome' });
    ({ cookies } = await signInToStore(service, subject, { installId }));
  }
  const debit = (coins: number) => service.post('/v1/coins/debit', { coins, key: 'welcome' }, { cookies });
  for (const coins of [10, 20, 30]) expect((await debit(coins)).body).toMatchObject({ replayed: true, balanceAfterCoins: 100 - coins });
  // Other amounts, a prefix of a used amount, and a used amount as a credit.
  for (const coins of [1, 2, 100, 40]) expect((await debit(coins)).body.error.code).toBe('key_reused');
  expect((await credit({}, 10, 'welcome', cookies)).body.error.code).toBe('key_reused');
});

test('a guest that moves in between two pages does not appear on the following pages', { timeout: 60_000 }, async () => {
  const subject = freshId('subject');
  const late = freshId();
  // The entries of the late guest are older than those of the account.
  for (let index = 0; index < 30; index++) await credit({ installId: late }, 1, `late-${index}`);
  const cookies = await moveIn(subject, 8, 'early');
  const before = await historyOf(service, cookies, 100);
  const first = (await service.get('/v1/coins/history?limit=2', { cookies })).body;
  await signInToStore(service, subject, { installId: late });
  const rest = [];
  for (let cursor = first.nextCursor; cursor !== undefined;) {
    const { body } = await service.get(`/v1/coins/history?limit=2&cursor=${cursor}`, { cookies });
    rest.push(...body.entries);
    cursor = body.nextCursor;
  }
  expect([...first.entries, ...rest]).toEqual(before);
  expect(await historyOf(service, cookies, 9)).toHaveLength(before.length + 1 + 31);
});
