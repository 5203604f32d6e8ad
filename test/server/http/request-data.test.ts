import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Refusal } from '../../../src/errors.ts';
import { TargetValidation } from '../../../src/server/http/request-data.ts';
import { forFile, freshId, request, start, tokenFor } from '../../harness.ts';

const service = await forFile(start());

test('path parameters are percent-decoded, and refused if they are not valid percent-encoding', async () => {
  expect((await service.get('/v1/highscores/%74etris')).body.game).toBe('tetris');
  const { status, body } = await service.get('/v1/highscores/%E2%80');
  expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'path']);
});

test('the validation of a path remembers parameters, but no long ones, and refuses again what it refused', () => {
  const target = new TargetValidation({ params: z.object({ game: z.string().regex(/^[a-z]+$/) }) });
  for (let turn = 0; turn < 2; turn++) {
    for (const given of ['tetris', '%74etris']) expect(target.params([given])).toEqual({ game: 'tetris' });
    expect(() => target.params(['TETRIS'])).toThrow(Refusal);
  }
  const long = 'a'.repeat(65);
  expect(target.params([long])).toEqual({ game: long });
  expect(target.params([long])).not.toBe(target.params([long]));
});

describe('x-install-id', () => {
  test.each(['OTHER&installId=NAMED', 'OTHER&installId=', 'NAMED&installId=OTHER'])(
    'of NAMED is refused beside the query installId=%s',
    async (query) => {
      const named = freshId();
      const path = `/v1/balance?installId=${query.replace('NAMED', named).replace('OTHER', freshId())}`;
      const { status, body } = await service.get(path, { headers: { 'x-install-id': named } });
      expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    },
  );

  test('is not needed to refuse a query with two installIds; the same installId twice counts as one', async () => {
    const [one, other] = [freshId(), freshId()];
    await service.post('/v1/coins/credit', { installId: one, coins: 1, key: 'a' });
    await service.post('/v1/coins/credit', { installId: other, coins: 2, key: 'a' });
    const { status, body } = await service.get(`/v1/balance?installId=${one}&installId=${other}`);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'installId']);
    expect((await service.get(`/v1/balance?installId=${one}&installId=${one}&installId=`)).body.balanceCoins).toBe(1);
    // A session has priority, so the query does not count.
    const bearer = await tokenFor(service, other);
    expect((await service.get(`/v1/balance?installId=${one}&installId=x`, { bearer })).body.balanceCoins).toBe(2);
  });

  test.each([
    ['no object', '[]', 'body'],
    ['null', 'null', 'body'],
    ['a body with installId null', '{"installId":null}', 'installId'],
    ['a body with an empty installId', '{"installId":""}', 'installId'],
    ['a body with a list of the same installId', '{"installId":["install-0001"]}', 'installId'],
    ['a body with the installId in another case', '{"installId":"INSTALL-0001"}', 'installId'],
    ['a body that names it twice, differing last', '{"installId":"install-0001","installId":"install-0002"}', 'installId'],
  ])('beside %s is refused', async (_, text, field) => {
    const options = { method: 'POST', headers: { 'x-install-id': 'install-0001' } };
    const { status, body } = await request(service.url, '/v1/account/resolve', options, text);
    expect([status, body.error]).toMatchObject([400, { code: 'invalid_request', field, issues: [{ path: field }] }]);
  });

  test('names the caller beside an empty body if the endpoint takes one', async () => {
    const { room } = (await service.post('/v1/rooms', { installId: freshId() })).body;
    const options = { method: 'POST', headers: { 'x-install-id': freshId() } };
    expect((await request(service.url, `/v1/rooms/${room.code}/join`, options)).body.you).toEqual({ playerId: 'p2', host: false });
  });
});

test.each<[string, Record<string, string>, proto: string, isSecure: boolean]>([
  ['a trusted proxy says https', { TRUSTED_PROXIES: '127.0.0.1' }, 'HTTPS', true],
  ['a trusted proxy says nothing of https', { TRUSTED_PROXIES: '127.0.0.1' }, 'httpsx', false],
  ['a client that is no trusted proxy says https', {}, 'https', false],
  ['PUBLIC_URL says https', { PUBLIC_URL: 'https://play.example' }, 'http', true],
])('where %s, whether cookies in development are Secure', async (_, settings, proto, isSecure) => {
  await using own = await start({ settings });
  const { setCookies } = await own.post('/v1/login', { installId: freshId() }, { headers: { 'x-forwarded-proto': proto } });
  expect(setCookies[0]!.endsWith('; Secure')).toBe(isSecure);
});
