import { expect, test } from 'vitest';
import { forFile, freshId, start } from '../../harness.ts';

const service = await forFile(start());

test('the balance of an unknown install is 0, and reading it creates no account', async () => {
  const installId = freshId();
  for (let times = 0; times < 2; times++)
    expect((await service.get(`/v1/balance?installId=${installId}`)).body).toEqual({ ok: true, balanceCoins: 0 });
  expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
});

test('a percent-encoded installId names the same install as in a body and in a header', async () => {
  const installId = `${freshId()}&a=b#c%41+/?{}`;
  await service.post('/v1/coins/credit', { installId, coins: 9, key: 'a' });
  expect((await service.get(`/v1/balance?installId=${encodeURIComponent(installId)}`)).body.balanceCoins).toBe(9);
  expect((await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body.balanceCoins).toBe(9);
});
