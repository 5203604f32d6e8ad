import { describe, expect, test } from 'vitest';
import { forFile, freshId, start } from '../../harness.ts';

const service = await forFile(start());

/** A new install with this balance. */
async function withCoins(coins: number): Promise<string> {
  const installId = freshId();
  expect((await service.post('/v1/coins/credit', { installId, coins, key: 'opening' })).status).toBe(200);
  return installId;
}

describe('GET /v1/balance', () => {
  test('is 0 for an unknown install, and reading it creates no account', async () => {
    const installId = freshId();
    for (let index = 0; index < 2; index++)
      expect((await service.get(`/v1/balance?installId=${installId}`)).body).toEqual({ ok: true, balanceCoins: 0 });
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
  });

  test('a percent-encoded installId names the same install as in a body', async () => {
    const installId = `${freshId()}&a=b#c%41+/?{}`;
    await service.post('/v1/coins/credit', { installId, coins: 9, key: 'a' });
    expect((await service.get(`/v1/balance?installId=${encodeURIComponent(installId)}`)).body.balanceCoins).toBe(9);
    expect((await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body.balanceCoins).toBe(9);
  });
});
