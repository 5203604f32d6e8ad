import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshId, request, signIn, start, type TestService } from '../../harness.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

/** An install with that many coins. */
async function withCoins(coins: number): Promise<string> {
  const installId = freshId();
  expect((await service.post('/v1/coins/credit', { installId, coins, key: 'opening' })).status).toBe(200);
  return installId;
}

describe('balance', () => {
  test('of an install is told by query or by header', async () => {
    const installId = await withCoins(12);
    expect((await service.get(`/v1/balance?installId=${installId}`)).body).toEqual({ ok: true, balanceCoins: 12 });
    expect((await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body).toEqual({ ok: true, balanceCoins: 12 });
  });

  test('where query and header differ, the query counts', async () => {
    const [first, second] = [await withCoins(1), await withCoins(2)];
    const { body } = await service.get(`/v1/balance?installId=${first}`, { headers: { 'x-install-id': second } });
    expect(body).toEqual({ ok: true, balanceCoins: 1 });
  });

  test('is 0 for an install never seen, and looking makes no account', async () => {
    const installId = freshId();
    for (let index = 0; index < 2; index++)
      expect((await service.get(`/v1/balance?installId=${installId}`)).body).toEqual({ ok: true, balanceCoins: 0 });
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
  });

  test('of a session is that of its account, whatever installId also says', async () => {
    const [own, other] = [await withCoins(3), await withCoins(4)];
    const cookies = await signIn(service, own);
    expect((await service.get('/v1/balance', { cookies })).body).toEqual({ ok: true, balanceCoins: 3 });
    expect((await service.get(`/v1/balance?installId=${other}`, { cookies })).body).toEqual({ ok: true, balanceCoins: 3 });
    expect((await service.get('/v1/balance', { cookies, headers: { 'x-install-id': other } })).body).toEqual({ ok: true, balanceCoins: 3 });
  });

  test('of a session signed out is that of the installId, if one is given', async () => {
    const [own, other] = [await withCoins(3), await withCoins(4)];
    const cookies = await signIn(service, own);
    await service.post('/v1/logout', {}, { cookies });
    expect((await service.get(`/v1/balance?installId=${other}`, { cookies })).body).toEqual({ ok: true, balanceCoins: 4 });
    const nobody = await service.get('/v1/balance', { cookies });
    expect([nobody.status, nobody.body.error.code]).toEqual([401, 'identity_required']);
  });

  test('of nobody is identity_required', async () => {
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
  ])('an installId %s is refused', async (_name, installId) => {
    const { status, body } = await service.get(`/v1/balance?installId=${installId}`);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'installId']);
  });

  test('a bad x-install-id is refused, naming the installId', async () => {
    const { status, body } = await service.get('/v1/balance', { headers: { 'x-install-id': 'short' } });
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'installId']);
  });

  test.each(['installid', 'install_id', 'INSTALLID'])('%s is not installId', async (name) => {
    expect((await service.get(`/v1/balance?${name}=${await withCoins(1)}`)).status).toBe(401);
  });

  test('an installId of signs that a URL escapes is the same install as in a body', async () => {
    const installId = `${freshId()}&a=b#c%41+/?{}`;
    await service.post('/v1/coins/credit', { installId, coins: 9, key: 'a' });
    expect((await service.get(`/v1/balance?installId=${encodeURIComponent(installId)}`)).body.balanceCoins).toBe(9);
    expect((await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body.balanceCoins).toBe(9);
  });

  test('HEAD answers as GET does, without the body', async () => {
    const installId = await withCoins(1);
    const { status, body, headers } = await request(service.url, `/v1/balance?installId=${installId}`, { method: 'HEAD' });
    expect([status, body, headers.get('content-length')]).toEqual([200, '', String('{"ok":true,"balanceCoins":1}'.length)]);
  });

  test('is not to be cached', async () => {
    const { headers } = await service.get(`/v1/balance?installId=${await withCoins(1)}`);
    expect(headers.get('cache-control')).toBe('no-store');
  });
});
