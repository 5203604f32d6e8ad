import { describe, expect, test } from 'vitest';
import { forFile, freshId, request, signIn, start } from '../../harness.ts';

const service = await forFile(start());

/** A new install with this balance. */
async function withCoins(coins: number): Promise<string> {
  const installId = freshId();
  expect((await service.post('/v1/coins/credit', { installId, coins, key: 'opening' })).status).toBe(200);
  return installId;
}

describe('GET /v1/balance', () => {
  test('accepts the installId in the query or in x-install-id', async () => {
    const installId = await withCoins(12);
    expect((await service.get(`/v1/balance?installId=${installId}`)).body).toEqual({ ok: true, balanceCoins: 12 });
    expect((await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body).toEqual({ ok: true, balanceCoins: 12 });
  });

  test('is refused when the query and the header name different installs', async () => {
    const [first, second] = [await withCoins(1), await withCoins(2)];
    const { status, body } = await service.get(`/v1/balance?installId=${first}`, { headers: { 'x-install-id': second } });
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'installId']);
  });

  test('is 0 for an unknown install, and reading it creates no account', async () => {
    const installId = freshId();
    for (let index = 0; index < 2; index++)
      expect((await service.get(`/v1/balance?installId=${installId}`)).body).toEqual({ ok: true, balanceCoins: 0 });
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
  });

  test('a session outranks the installId in query and header', async () => {
    const [own, other] = [await withCoins(3), await withCoins(4)];
    const cookies = await signIn(service, own);
    expect((await service.get('/v1/balance', { cookies })).body).toEqual({ ok: true, balanceCoins: 3 });
    expect((await service.get(`/v1/balance?installId=${other}`, { cookies })).body).toEqual({ ok: true, balanceCoins: 3 });
    expect((await service.get('/v1/balance', { cookies, headers: { 'x-install-id': other } })).body).toEqual({ ok: true, balanceCoins: 3 });
  });

  test('a signed-out session is ignored, and the installId decides', async () => {
    const [own, other] = [await withCoins(3), await withCoins(4)];
    const cookies = await signIn(service, own);
    await service.post('/v1/logout', {}, { cookies });
    expect((await service.get(`/v1/balance?installId=${other}`, { cookies })).body).toEqual({ ok: true, balanceCoins: 4 });
    const nobody = await service.get('/v1/balance', { cookies });
    expect([nobody.status, nobody.body.error.code]).toEqual([401, 'identity_required']);
  });

  test('a request that names no caller is refused with identity_required', async () => {
    const { status, body } = await service.get('/v1/balance');
    expect([status, body.error.code]).toEqual([401, 'identity_required']);
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

  test('a bad x-install-id is refused, and the error names installId', async () => {
    const { status, body } = await service.get('/v1/balance', { headers: { 'x-install-id': 'short' } });
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
