import { describe, expect, test } from 'vitest';
import { forFile, freshId, start } from '../../harness.ts';

const service = await forFile(start());

const resolve = (installId: unknown, cookies?: string) =>
  service.post('/v1/account/resolve', { installId }, cookies === undefined ? {} : { cookies });

describe('POST /v1/account/resolve', () => {
  test('creates the account of an install once and finds it afterwards', async () => {
    const installId = freshId();
    const first = await resolve(installId);
    expect(first.body).toEqual({ ok: true, accountId: expect.stringMatching(/^[\w-]{22}$/), created: true });
    for (let index = 0; index < 2; index++) {
      expect((await resolve(installId)).body).toEqual({ ok: true, accountId: first.body.accountId, created: false });
    }
  });

  test('finds an account that a credit or a login created', async () => {
    const [byCredit, byLogin] = [freshId(), freshId()];
    await service.post('/v1/coins/credit', { installId: byCredit, coins: 1, key: 'a' });
    const { body } = await service.post('/v1/login', { installId: byLogin });
    expect((await resolve(byCredit)).body.created).toBe(false);
    expect((await resolve(byLogin)).body).toEqual({ ok: true, accountId: body.accountId, created: false });
  });

  test('50 concurrent requests create one account', async () => {
    const installId = freshId();
    const replies = await Promise.all(Array.from({ length: 50 }, () => resolve(installId)));
    expect(replies.filter(({ body }) => body.created)).toHaveLength(1);
    expect(new Set(replies.map(({ body }) => body.accountId)).size).toBe(1);
  });

  test('answers different accounts for different installs, and an account id does not work as an installId of its account', async () => {
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 5, key: 'a' });
    const { accountId } = (await resolve(installId)).body;
    expect((await resolve(freshId())).body.accountId).not.toBe(accountId);
    expect((await resolve(accountId)).body.accountId).not.toBe(accountId);
    expect((await service.get(`/v1/balance?installId=${accountId}`)).body.balanceCoins).toBe(0);
  });

  test.each([
    ['missing', undefined],
    ['null', null],
    ['a number', 12_345_678],
    ['7 characters', 'install'],
    ['129 characters', 'i'.repeat(129)],
    ['with a blank', 'install 0001'],
    ['with a line feed at the end', 'install-0001\n'],
    ['with DEL', 'install-0001\u007f'],
    ['beyond ASCII', 'ınstall-0001'],
  ])('refuses an installId that is: %s', async (_name, installId) => {
    const { status, body } = await resolve(installId);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'installId']);
  });

  test.each([
    ['8 characters', 8],
    ['128 characters', 128],
  ])('accepts an installId of %s', async (_name, length) => {
    expect((await resolve(freshId('').padEnd(length, '~').slice(-length))).status).toBe(200);
  });

  test('accepts every visible ASCII character in an installId', async () => {
    const signs = String.fromCharCode(...Array.from({ length: 94 }, (_, index) => 33 + index));
    expect((await resolve(signs + freshId())).body.created).toBe(true);
  });
});
