import { describe, expect, test } from 'vitest';
import { forFile, freshId, request, start } from '../../harness.ts';

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

  test.each([
    ['7 characters', 'install'],
    ['129 characters', 'i'.repeat(129)],
    ['with a blank', 'install%200001'],
    ['with a plus, which is a blank', 'install+0001'],
    ['beyond ASCII', 'install%C3%A9-0001'],
    ['invalid UTF-8', 'install-%FF%FE-0001'],
    ['with a line feed', 'install-0001%0A'],
  ])('an installId is refused: %s', async (_name, installId) => {
    const { status, body } = await service.get(`/v1/balance?installId=${installId}`);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'installId']);
  });

  test.each(['installid', 'install_id', 'INSTALLID'])('the query parameter %s is not accepted for installId', async (name) => {
    const { status, body } = await service.get(`/v1/balance?${name}=${await withCoins(1)}`);
    expect([status, body.error.code]).toEqual([401, 'identity_required']);
  });

  test('a percent-encoded installId names the same install as in a body', async () => {
    const installId = `${freshId()}&a=b#c%41+/?{}`;
    await service.post('/v1/coins/credit', { installId, coins: 9, key: 'a' });
    expect((await service.get(`/v1/balance?installId=${encodeURIComponent(installId)}`)).body.balanceCoins).toBe(9);
    expect((await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body.balanceCoins).toBe(9);
  });

  test('HEAD answers with the headers of GET and no body', async () => {
    const installId = await withCoins(1);
    const { status, body, headers } = await request(service.url, `/v1/balance?installId=${installId}`, { method: 'HEAD' });
    expect([status, body, headers.get('content-length')]).toEqual([200, '', String('{"ok":true,"balanceCoins":1}'.length)]);
  });

  test('answers with cache-control: no-store', async () => {
    const { headers } = await service.get(`/v1/balance?installId=${await withCoins(1)}`);
    expect(headers.get('cache-control')).toBe('no-store');
  });
});
