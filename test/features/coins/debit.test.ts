import { describe, expect, test } from 'vitest';
import { forFile, freshId, signIn, start } from '../../harness.ts';
import { testOperationRules } from './operation-rules.ts';

const service = await forFile(start());

const credit = (installId: string, coins: number, key: string) => service.post('/v1/coins/credit', { installId, coins, key });
const debit = (installId: string, coins: number, key: string) => service.post('/v1/coins/debit', { installId, coins, key });
const balanceOf = async (installId: string) => (await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins;

describe('POST /v1/coins/debit', () => {
  testOperationRules('debit', 90, service);

  test('a debit beyond the balance is refused with insufficient_coins and the balance, and changes nothing', async () => {
    const installId = freshId();
    await credit(installId, 10, 'a');
    const { status, body } = await debit(installId, 11, 'b');
    expect([status, body.error.code, body.error.balanceCoins, body.error.field]).toEqual([409, 'insufficient_coins', 10, 'coins']);
    expect(await balanceOf(installId)).toBe(10);
  });

  test('a debit of an unknown install is refused with insufficient_coins and creates no account', async () => {
    const installId = freshId();
    const { status, body } = await debit(installId, 1, 'a');
    expect([status, body.error.code, body.error.balanceCoins]).toEqual([409, 'insufficient_coins', 0]);
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
  });

  test('a refused debit does not use its key up: after a top-up the same key succeeds once', async () => {
    const installId = freshId();
    for (let index = 0; index < 3; index++) expect((await debit(installId, 5, 'a')).status).toBe(409);
    await credit(installId, 12, 'top-up');
    expect((await debit(installId, 5, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 7 });
    expect((await debit(installId, 5, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 7, replayed: true, balanceCoins: 7 });
  });

  test('of 60 concurrent debits of 1 from a balance of 20 exactly 20 succeed', async () => {
    const installId = freshId();
    await credit(installId, 20, 'opening');
    const cookies = await signIn(service, installId);
    const replies = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        // Half of the requests name the account by installId, half by session.
        index % 2 === 0
          ? debit(installId, 1, `key-${index}`)
          : service.post('/v1/coins/debit', { coins: 1, key: `key-${index}` }, { cookies }),
      ),
    );
    const done = replies.filter(({ status }) => status === 200);
    expect(done.map(({ body }) => body.balanceAfterCoins).sort((one, other) => one - other)).toEqual(
      Array.from({ length: 20 }, (_, index) => index),
    );
    const refused = replies.filter(({ status }) => status === 409);
    expect(refused).toHaveLength(40);
    expect(refused.every(({ body }) => body.error.code === 'insufficient_coins' && body.error.balanceCoins === 0)).toBe(true);
    expect(await balanceOf(installId)).toBe(0);
  });
});
