import { describe, expect, test } from 'vitest';
import { forFile, freshId, signIn, start } from '../../harness.ts';

const service = await forFile(start());

const credit = (installId: string, coins: number) => service.post('/v1/coins/credit', { installId, coins, key: 'opening' });
const debit = (installId: string, coins: number, key: string) => service.post('/v1/coins/debit', { installId, coins, key });

// credit.test.ts tests the rules that all operations share.
describe('POST /v1/coins/debit', () => {
  test('a debit beyond the balance is insufficient_coins, creates no account, and does not use its key up', async () => {
    const installId = freshId();
    for (let times = 0; times < 2; times++) {
      const { status, body } = await debit(installId, 5, 'a');
      expect([status, body.error]).toMatchObject([409, { code: 'insufficient_coins', field: 'coins', balanceCoins: 0 }]);
    }
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
    await credit(installId, 12);
    expect((await debit(installId, 13, 'a')).body.error).toMatchObject({ code: 'insufficient_coins', balanceCoins: 12 });
    expect((await debit(installId, 5, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 7 });
    expect((await debit(installId, 5, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 7, replayed: true, balanceCoins: 7 });
  });

  test('of 60 concurrent debits of 1 from a balance of 20 exactly 20 succeed', async () => {
    const installId = freshId();
    await credit(installId, 20);
    const cookies = await signIn(service, installId);
    // Half of the requests name the account by installId, half by session.
    const bySession = (key: string) => service.post('/v1/coins/debit', { coins: 1, key }, { cookies });
    const replies = await Promise.all(
      Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? debit(installId, 1, `key-${index}`) : bySession(`key-${index}`))),
    );
    const balances = replies.filter(({ status }) => status === 200).map(({ body }) => body.balanceAfterCoins as number);
    expect(balances.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 20 }, (_, index) => index));
    const refused = replies.filter(({ body }) => body.error?.code === 'insufficient_coins' && body.error.balanceCoins === 0);
    expect(refused).toHaveLength(40);
  });
});
