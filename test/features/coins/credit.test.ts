import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { forFile, freshId, signIn, start, type TestService } from '../../harness.ts';
import { testOperationRules } from './operation-rules.ts';

const service = await forFile(start());

const credit = (installId: string, coins: unknown, key: unknown) => service.post('/v1/coins/credit', { installId, coins, key });
const balanceOf = async (installId: string) => (await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins;

describe('POST /v1/coins/credit', () => {
  testOperationRules('credit', 110, service);
});

describe('the balance limit of 1,000,000,000,000', () => {
  /** An install with this balance. Writes the first ledger entry as apply.lua does, because 1,000,000 requests would take too long. */
  async function withBalance(balance: number): Promise<string> {
    const installId = freshId();
    await service.service.redis.rpush(
      coinKeys.ledger(accountIdOf(installId)),
      `1:${balance} c${balance} ${service.now().toString(36)} seed`,
    );
    expect(await balanceOf(installId)).toBe(balance);
    return installId;
  }

  test('a credit may reach the limit exactly and not exceed it', async () => {
    const installId = await withBalance(999_999_999_989);
    expect((await credit(installId, 10, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 999_999_999_999 });
    const refused = await credit(installId, 2, 'b');
    expect([refused.status, refused.body.error.code]).toEqual([409, 'balance_limit']);
    expect(refused.body.error).toMatchObject({ field: 'coins', balanceCoins: 999_999_999_999 });
    expect((await credit(installId, 1, 'c')).body).toEqual({ ok: true, balanceAfterCoins: 1_000_000_000_000 });
    expect((await credit(installId, 1, 'd')).body.error).toMatchObject({ code: 'balance_limit', balanceCoins: 1_000_000_000_000 });
    expect(await balanceOf(installId)).toBe(1_000_000_000_000);
  });

  test('a used key still answers at the limit, because the key is checked first', async () => {
    const installId = await withBalance(999_999_999_000);
    await credit(installId, 1000, 'a');
    expect((await credit(installId, 1000, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 1e12, replayed: true, balanceCoins: 1e12 });
    expect((await credit(installId, 1001, 'a')).body.error.code).toBe('key_reused');
  });

  test('balances next to the limit keep every digit in reply, replay and history', async () => {
    const installId = await withBalance(999_999_999_999);
    expect((await service.post('/v1/coins/debit', { installId, coins: 123_457, key: 'a' })).body.balanceAfterCoins).toBe(999_999_876_542);
    expect((await credit(installId, 1, 'b')).body.balanceAfterCoins).toBe(999_999_876_543);
    expect((await service.post('/v1/coins/debit', { installId, coins: 123_457, key: 'a' })).body).toEqual({
      ok: true,
      balanceAfterCoins: 999_999_876_542,
      replayed: true,
      balanceCoins: 999_999_876_543,
    });
    const { body } = await service.get('/v1/coins/history', { cookies: await signIn(service, installId) });
    expect(body.entries.map((entry: { balanceAfterCoins: number; coins: number }) => [entry.coins, entry.balanceAfterCoins])).toEqual([
      [1, 999_999_876_543],
      [-123_457, 999_999_876_542],
      [999_999_999_999, 999_999_999_999],
    ]);
  });
});

describe('CREDIT_DAILY_CAP', () => {
  let capped: TestService;
  beforeAll(async () => {
    capped = await start({ settings: { CREDIT_DAILY_CAP: '100' } });
    // Noon, so that no test runs across midnight.
    capped.advance(DAY_MS - (capped.now() % DAY_MS) + DAY_MS / 2);
  });
  afterAll(() => capped[Symbol.asyncDispose]());

  const creditCapped = (installId: string, coins: number, key: string) => capped.post('/v1/coins/credit', { installId, coins, key });

  test('bounds the credits of each account separately', async () => {
    const installId = freshId();
    expect((await creditCapped(installId, 101, 'a')).body.error).toMatchObject({ code: 'balance_limit', balanceCoins: 0 });
    expect((await creditCapped(installId, 60, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 60 });
    const refused = await creditCapped(installId, 41, 'c');
    expect([refused.status, refused.body.error.code, refused.body.error.balanceCoins]).toEqual([409, 'balance_limit', 60]);
    expect((await creditCapped(installId, 40, 'c')).body).toEqual({ ok: true, balanceAfterCoins: 100 });
    expect((await creditCapped(installId, 1, 'd')).status).toBe(409);
    expect((await creditCapped(freshId(), 100, 'a')).status).toBe(200);
  });

  test('replays do not count, and debits free nothing', async () => {
    const installId = freshId();
    await creditCapped(installId, 60, 'a');
    for (let index = 0; index < 5; index++) expect((await creditCapped(installId, 60, 'a')).body.replayed).toBe(true);
    expect((await capped.post('/v1/coins/debit', { installId, coins: 60, key: 'spent' })).body.balanceAfterCoins).toBe(0);
    expect((await creditCapped(installId, 41, 'b')).body.error.code).toBe('balance_limit');
    expect((await creditCapped(installId, 40, 'c')).body).toEqual({ ok: true, balanceAfterCoins: 40 });
    // The cap is used up, but a replay is still answered.
    expect((await creditCapped(installId, 40, 'c')).body).toEqual({ ok: true, balanceAfterCoins: 40, replayed: true, balanceCoins: 40 });
  });

  test('counts credits and purchases together and bounds both', async () => {
    const installId = freshId();
    const purchase = (coins: number, key: string) => capped.post('/v1/coins/purchase', { installId, coins, key });
    expect((await purchase(1_000_000, 'a')).body.error).toMatchObject({ code: 'balance_limit', balanceCoins: 0 });
    expect((await purchase(60, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 60 });
    expect((await creditCapped(installId, 41, 'c')).body.error).toMatchObject({ code: 'balance_limit', balanceCoins: 60 });
    expect((await creditCapped(installId, 30, 'd')).body).toEqual({ ok: true, balanceAfterCoins: 90 });
    expect((await purchase(11, 'e')).body.error).toMatchObject({ code: 'balance_limit', balanceCoins: 90 });
    expect((await purchase(10, 'e')).body).toEqual({ ok: true, balanceAfterCoins: 100 });
    const replies = await Promise.all([creditCapped(installId, 1, 'f'), purchase(1, 'g')]);
    expect(replies.map(({ status }) => status)).toEqual([409, 409]);
  });

  test('20 concurrent credits never exceed the cap', async () => {
    const installId = freshId();
    const replies = await Promise.all(Array.from({ length: 20 }, (_, index) => creditCapped(installId, 9, `key-${index}`)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(11);
    expect(replies.filter(({ body }) => body.error?.code === 'balance_limit')).toHaveLength(9);
  });

  test('starts again with each UTC day', async () => {
    const installId = freshId();
    await creditCapped(installId, 100, 'a');
    // 5 s before midnight, then midnight.
    capped.advance(DAY_MS - (capped.now() % DAY_MS) - 5000);
    expect((await creditCapped(installId, 1, 'b')).status).toBe(409);
    capped.advance(5000);
    expect((await creditCapped(installId, 1, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 101 });
    expect((await creditCapped(installId, 100, 'c')).status).toBe(409);
    expect((await creditCapped(installId, 99, 'c')).body).toEqual({ ok: true, balanceAfterCoins: 200 });
    // A replay of yesterday's credit does not count today.
    expect((await creditCapped(installId, 100, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 100, replayed: true, balanceCoins: 200 });
  });

  test('Redis deletes the counter of a day within two days', async () => {
    const installId = freshId();
    await creditCapped(installId, 1, 'a');
    const ttlSeconds = await capped.service.redis.ttl(coinKeys.credited(accountIdOf(installId), capped.now()));
    expect(ttlSeconds).toBeGreaterThan(86_400);
    expect(ttlSeconds).toBeLessThanOrEqual(2 * 86_400);
  });
});

const DAY_MS = 86_400_000;
