import { describe, expect, test } from 'vitest';
import { codeOf, forFile, freshId, start } from '../../harness.ts';
import { balanceOf } from '../../store.ts';

const service = await forFile(start());

const resolve = (installId: unknown) => service.post('/v1/account/resolve', { installId });

describe('POST /v1/account/resolve', () => {
  test('50 concurrent requests create the account of an install once, and later ones find it', async () => {
    const installId = freshId();
    const replies = await Promise.all(Array.from({ length: 50 }, () => resolve(installId)));
    expect(replies.filter(({ body }) => body.created)).toHaveLength(1);
    const { accountId } = replies[0]!.body;
    expect(accountId).toMatch(/^[\w-]{22}$/);
    expect(new Set(replies.map(({ body }) => body.accountId)).size).toBe(1);
    expect((await resolve(installId)).body).toEqual({ ok: true, accountId, created: false });
  });

  test('finds an account that a credit or a login created', async () => {
    const [byCredit, byLogin] = [freshId(), freshId()];
    await service.post('/v1/coins/credit', { installId: byCredit, coins: 1, key: 'a' });
    const { accountId } = (await service.post('/v1/login', { installId: byLogin })).body;
    expect((await resolve(byCredit)).body.created).toBe(false);
    expect((await resolve(byLogin)).body).toEqual({ ok: true, accountId, created: false });
  });

  test('an account id does not work as an installId of its account', async () => {
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 5, key: 'a' });
    const { accountId } = (await resolve(installId)).body;
    for (const other of [freshId(), accountId]) expect((await resolve(other)).body.accountId).not.toBe(accountId);
    expect(await balanceOf(service, { installId: accountId })).toBe(0);
  });

  test.each([
    ...[undefined, null, 12_345_678, 'install', 'i'.repeat(129), 'install 0001', 'install-0001\n', 'install-0001\u007f'],
    'ınstall-0001',
  ])('refuses the installId %j', async (installId) => {
    const reply = await resolve(installId);
    expect([codeOf(reply), reply.body.error.field]).toEqual(['400 invalid_request', 'installId']);
  });

  test('accepts an installId of 8 and of 128 characters, and every visible ASCII character', async () => {
    const signs = String.fromCharCode(...Array.from({ length: 94 }, (_, index) => 33 + index));
    for (const installId of [freshId('').slice(-8), freshId('').padEnd(128, '~'), signs + freshId()])
      expect((await resolve(installId)).body.created).toBe(true);
  });
});
