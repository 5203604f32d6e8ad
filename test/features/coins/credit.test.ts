import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshId, signIn, start, type TestService } from '../../harness.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

const credit = (installId: string, coins: unknown, key: unknown) => service.post('/v1/coins/credit', { installId, coins, key });

describe('credit', () => {
  test('adds to the balance of the install', async () => {
    const installId = freshId();
    expect((await credit(installId, 10, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 10 });
    expect((await credit(installId, 5, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 15 });
  });

  test('with a session acts for its account, whatever installId also says', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    const reply = await service.post('/v1/coins/credit', { installId: freshId(), coins: 7, key: 'a' }, { cookies });
    expect(reply.body).toEqual({ ok: true, balanceAfterCoins: 7 });
    expect((await service.get(`/v1/balance?installId=${installId}`)).body).toEqual({ ok: true, balanceCoins: 7 });
  });

  test('a key sent again does nothing, and answers with the original balance and the one now', async () => {
    const installId = freshId();
    await credit(installId, 10, 'a');
    await credit(installId, 5, 'b');
    expect((await credit(installId, 10, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 10, replayed: true, balanceCoins: 15 });
  });

  test('a key sent again with another amount or operation is refused and changes nothing', async () => {
    const installId = freshId();
    await credit(installId, 10, 'a');
    const otherAmount = await credit(installId, 11, 'a');
    expect([otherAmount.status, otherAmount.body.error.code]).toEqual([422, 'key_reused']);
    const otherOperation = await service.post('/v1/coins/debit', { installId, coins: 10, key: 'a' });
    expect([otherOperation.status, otherOperation.body.error.code]).toEqual([422, 'key_reused']);
    expect((await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(10);
  });

  test('200 requests at once with one key take effect once', async () => {
    const installId = freshId();
    const replies = await Promise.all(Array.from({ length: 200 }, () => credit(installId, 10, 'a')));
    expect(replies.every(({ status, body }) => status === 200 && body.balanceAfterCoins === 10)).toBe(true);
    expect(replies.filter(({ body }) => body.replayed === undefined)).toHaveLength(1);
    expect((await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(10);
  });
});
