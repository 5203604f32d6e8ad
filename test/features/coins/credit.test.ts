import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { forFile, freshId, request, signIn, start } from '../../harness.ts';
import { historyOf } from '../../store.ts';

const DAY_MS = 86_400_000;

const service = await forFile(start());
const capped = await forFile(start({ settings: { CREDIT_DAILY_CAP: '100' }, stoppedClock: true }));
// Noon, so that no test runs across midnight.
capped.advance(DAY_MS - (capped.now() % DAY_MS) + DAY_MS / 2);

type Operation = 'credit' | 'purchase' | 'debit';

const apply = (operation: Operation, installId: string, coins: number, key: string, at = service) =>
  at.post(`/v1/coins/${operation}`, { installId, coins, key });
const balanceOf = async (installId: string): Promise<number> => (await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins;

/** An install with this balance. Writes the first ledger entry as apply.lua does, because 1,000,000 requests would take too long. */
async function withBalance(balance: number): Promise<string> {
  const installId = freshId();
  const entry = `1:${balance} c${balance} ${service.now().toString(36)} seed`;
  await service.service.redis.rpush(coinKeys.ledger(accountIdOf(installId)), entry);
  return installId;
}

/** Raw JSON. An empty text omits the field. */
const badFields: Record<'coins' | 'key', readonly string[]> = {
  coins: ['', '"10"', '-1', '-0', '1.5', '0.99999999999999994', '1e400', '1e-400', '9223372036854775808', '1000001'],
  key: ['', '1', '""', `"${'k'.repeat(256)}"`, '"schlüssel"', '"\\ud800"', '"a\\n"', '"a\\u0000b"', '"a\\u007f"'],
};

const printable = String.fromCharCode(...Array.from({ length: 95 }, (_, index) => 32 + index));

const goodFields: readonly [raw: Record<string, string>, coins: number][] = [
  [{ coins: '1' }, 1],
  [{ coins: '1000000' }, 1_000_000],
  [{ coins: '1e3' }, 1000],
  [{ coins: '7.0' }, 7],
  [{ key: `"${'k'.repeat(255)}"` }, 10],
  [{ key: JSON.stringify(printable) }, 10],
  // A field that the operation does not have is ignored.
  [{ balanceCoins: '5000', type: '"merge"', at: '0' }, 10],
  [{ ['__proto__']: '{"coins":1000000,"polluted":1}', constructor: '{"prototype":{"polluted":1}}' }, 10],
];

describe.each([
  ['credit', 110],
  ['purchase', 110],
  ['debit', 90],
] as const)('POST /v1/coins/%s', (operation, after) => {
  /** Sends raw JSON values, which JSON.stringify would not write. */
  const send = (installId: string, raw: Record<string, string>) => {
    const fields = Object.entries({ installId: `"${installId}"`, coins: '10', key: '"key"', ...raw }).filter(([, text]) => text !== '');
    const body = `{${fields.map(([name, text]) => `"${name}":${text}`).join(',')}}`;
    return request(service.url, `/v1/coins/${operation}`, { method: 'POST' }, body);
  };

  test('a credit with a bad field is refused, the refusal names the field, and the key stays unused', async () => {
    const installId = await withBalance(100);
    for (const [field, texts] of Object.entries(badFields))
      for (const text of texts) {
        const { status, body } = await send(installId, { [field]: text });
        expect([text, status, body.error]).toMatchObject([text, 400, { code: 'invalid_request', issues: [{ path: field }] }]);
      }
    expect(await balanceOf(installId)).toBe(100);
    expect((await apply(operation, installId, 10, 'key')).body).toEqual({ ok: true, balanceAfterCoins: after });
  });

  test.each(goodFields)('accepts %j', async (raw, coins) => {
    const { body } = await send(await withBalance(2_000_000), raw);
    expect(body).toEqual({ ok: true, balanceAfterCoins: 2_000_000 + (operation === 'debit' ? -coins : coins) });
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test('a repeated key is answered with the original and the current balance, and changes nothing. Another account may use the key', async () => {
    const installId = await withBalance(100);
    await apply(operation, installId, 10, 'a');
    await apply('credit', installId, 5, 'b');
    const again = { ok: true, balanceAfterCoins: after, replayed: true, balanceCoins: after + 5 };
    for (let times = 0; times < 2; times++) expect((await apply(operation, installId, 10, 'a')).body).toEqual(again);
    expect(await balanceOf(installId)).toBe(after + 5);
    expect((await apply(operation, await withBalance(100), 10, 'a')).body).toEqual({ ok: true, balanceAfterCoins: after });
  });

  test('a repeated key with another amount or operation is refused as key_reused', async () => {
    const installId = await withBalance(100);
    await apply(operation, installId, 10, 'a');
    for (const [other, coins] of [
      ['credit', operation === 'credit' ? 11 : 10],
      ['purchase', operation === 'purchase' ? 1 : 10],
      ['debit', operation === 'debit' ? 1_000_000 : 10],
    ] as const) {
      const { status, body } = await apply(other, installId, coins, 'a');
      expect([status, body.error]).toMatchObject([422, { code: 'key_reused', field: 'key' }]);
    }
    expect(await balanceOf(installId)).toBe(after);
  });

  test('of 40 concurrent requests with one key and two amounts one amount takes effect once', async () => {
    const installId = await withBalance(100);
    const replies = await Promise.all(Array.from({ length: 40 }, (_, index) => apply(operation, installId, 10 + (index % 2), 'a')));
    expect(replies.filter(({ status, body }) => status === 200 && body.replayed === undefined)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(20);
    expect(replies.filter(({ body }) => body.error?.code === 'key_reused')).toHaveLength(20);
  });
});

test.each(['credit', 'purchase'] as const)('a %s may reach 10^12 coins and not exceed them, and every digit stays', async (operation) => {
  const installId = await withBalance(999_999_999_989);
  expect((await apply(operation, installId, 10, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 999_999_999_999 });
  const refused = await apply(operation, installId, 2, 'b');
  expect([refused.status, refused.body.error]).toMatchObject([
    409,
    { code: 'balance_limit', field: 'coins', balanceCoins: 999_999_999_999 },
  ]);
  expect((await apply(operation, installId, 1, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 1e12 });
  expect((await apply('debit', installId, 123_457, 'c')).body.balanceAfterCoins).toBe(999_999_876_543);
  const again = { ok: true, balanceAfterCoins: 1e12, replayed: true, balanceCoins: 999_999_876_543 };
  expect((await apply(operation, installId, 1, 'b')).body).toEqual(again);
  const [newest] = await historyOf(service, await signIn(service, installId));
  expect(newest).toMatchObject({ coins: -123_457, balanceAfterCoins: 999_999_876_543 });
});

describe('CREDIT_DAILY_CAP', () => {
  const within = async (operation: Operation, installId: string, coins: number, key: string): Promise<object> => {
    const { body } = await apply(operation, installId, coins, key, capped);
    return body.ok ? body : { code: body.error.code, balanceCoins: body.error.balanceCoins };
  };
  const refusedAt = (balanceCoins: number): object => ({ code: 'balance_limit', balanceCoins });
  const done = (balanceAfterCoins: number): object => ({ ok: true, balanceAfterCoins });

  test('bounds the credits and purchases of each account together. Replays do not count, and debits free nothing', async () => {
    const installId = freshId();
    expect(await within('credit', installId, 101, 'a')).toEqual(refusedAt(0));
    expect(await within('purchase', installId, 60, 'a')).toEqual(done(60));
    expect(await within('credit', installId, 41, 'b')).toEqual(refusedAt(60));
    expect(await within('credit', installId, 30, 'b')).toEqual(done(90));
    for (let times = 0; times < 5; times++) expect(await within('credit', installId, 30, 'b')).toMatchObject({ replayed: true });
    expect(await within('debit', installId, 90, 'spent')).toEqual(done(0));
    expect(await within('purchase', installId, 11, 'c')).toEqual(refusedAt(0));
    expect(await within('purchase', installId, 10, 'c')).toEqual(done(10));
    expect(await within('credit', installId, 1, 'd')).toEqual(refusedAt(10));
    expect(await within('credit', freshId(), 100, 'a')).toEqual(done(100));
  });

  test('20 concurrent credits never exceed the cap', async () => {
    const installId = freshId();
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => within('credit', installId, 9, `key-${index}`)));
    expect(outcomes.filter((outcome) => 'ok' in outcome)).toHaveLength(11);
    expect(await within('credit', installId, 2, 'more')).toEqual(refusedAt(99));
  });

  test('starts again with each UTC day, and Redis deletes the counter of a day within two days', async () => {
    const installId = freshId();
    await within('credit', installId, 100, 'a');
    const ttlSeconds = await capped.service.redis.ttl(coinKeys.credited(accountIdOf(installId), capped.now()));
    expect([ttlSeconds > 86_400, ttlSeconds <= 2 * 86_400]).toEqual([true, true]);
    // 5 s before midnight, then midnight.
    capped.advance(DAY_MS - (capped.now() % DAY_MS) - 5000);
    expect(await within('credit', installId, 1, 'b')).toEqual(refusedAt(100));
    capped.advance(5000);
    expect(await within('credit', installId, 1, 'b')).toEqual(done(101));
    expect(await within('credit', installId, 100, 'c')).toEqual(refusedAt(101));
    // A replay of yesterday's credit does not count today.
    expect(await within('credit', installId, 100, 'a')).toMatchObject({ replayed: true, balanceCoins: 101 });
    expect(await within('credit', installId, 99, 'c')).toEqual(done(200));
  });
});
