import { describe, expect, test } from 'vitest';
import { SESSION_LIFE_MS } from '../../../src/accounts/session-list.ts';
import { forFile, freshId, signIn, start, tokenFor, type TestReply, type TestService } from '../../harness.ts';
import { expectCommands } from '../../round-trips.ts';
import { startRedis } from '../../own-redis.ts';
import { sendRaw, statusesIn } from '../../raw.ts';
import { signInToStore } from '../../store.ts';

const DAY_MS = 86_400_000;
const FOREIGN = { origin: 'https://elsewhere.example' };

const logLines: string[] = [];
const service = await forFile(start({ logLines }));

describe('through the server', () => {
  const codeOf = ({ status, body }: TestReply): string => (status === 200 ? '200' : `${status} ${body.error.code}`);
  const credit = (options: Parameters<TestService['post']>[2], key: string = freshId('key')) =>
    service.post('/v1/coins/credit', { coins: 1, key }, options);
  const balanceOf = async (installId: string): Promise<number> =>
    (await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body.balanceCoins;

  test('the origin of a page with a bearer is not checked, and cookies beside the bearer do not matter', async () => {
    const bearer = await tokenFor(service, freshId());
    const cookies = await signIn(service, freshId());
    expect(codeOf(await credit({ bearer, cookies, headers: FOREIGN }))).toBe('200');
    expect(codeOf(await credit({ cookies, headers: FOREIGN }))).toBe('403 cross_site');
    expect(codeOf(await credit({ cookies, headers: { ...FOREIGN, authorization: 'Basic YTpi' } }))).toBe('403 cross_site');
  });

  test.each(['', 'Basic YTpi', 'Digest username="a"', 'Negotiate', 'BearerX a.b.c', 'a.b.c'])(
    'the header Authorization "%s" is ignored',
    async (authorization) => {
      const cookies = await signIn(service, freshId());
      expect((await credit({ cookies, headers: { authorization } })).body.balanceAfterCoins).toBe(1);
    },
  );

  test.each(['Bearer', 'bearer a.b.c', 'BEARER null', 'Bearer undefined', 'Bearer, a'])(
    'the header Authorization "%s" is refused with session_required',
    async (authorization) => {
      const cookies = await signIn(service, freshId());
      const { status, body, headers } = await service.get('/v1/session', { cookies, headers: { authorization } });
      const message = 'The session token is not valid or its session has ended: sign in again.';
      expect([status, body.error, headers.get('cache-control')]).toEqual([401, { code: 'session_required', message }, 'no-store']);
    },
  );

  test.each([
    ['twice', (token: string) => `Authorization: Bearer ${token}\r\nAuthorization: Bearer ${token}\r\n`],
    ['twice, once empty', (token: string) => `Authorization: Bearer ${token}\r\nAuthorization:\r\n`],
    ['with a NUL in front of the token', (token: string) => `Authorization: Bearer \0${token}\r\n`],
    ['with a NUL behind the token', (token: string) => `Authorization: Bearer ${token}\0\r\n`],
    ['with a NUL for the blank', (token: string) => `Authorization: Bearer\0${token}\r\n`],
    ['folded', (token: string) => `Authorization: Bearer\r\n ${token}\r\n`],
  ])('a header Authorization %s is no valid session, and no cookie takes its place', async (_, lines) => {
    const installId = freshId();
    const cookie = await signIn(service, installId);
    const token = await tokenFor(service, installId);
    const body = '{"coins":1,"key":"a"}';
    const { text } = await sendRaw(
      service.port,
      `POST /v1/coins/credit HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nCookie: ${cookie}\r\n${lines(token)}\r\n${body}`,
    );
    expect(statusesIn(text).every((status) => status === 400 || status === 401)).toBe(true);
    expect(await balanceOf(installId)).toBe(0);
  });

  test('a token in the query is ignored', async () => {
    const token = await tokenFor(service, freshId());
    expect(codeOf(await service.get(`/v1/coins/history?access_token=${token}&sessionToken=${token}`))).toBe('401 session_required');
  });

  test('signing out ends the session of the bearer alone, and clears no cookie', async () => {
    const bearer = await tokenFor(service, freshId());
    const cookies = await signIn(service, freshId());
    const reply = await service.post('/v1/logout', {}, { bearer, cookies });
    expect([codeOf(reply), reply.setCookies]).toEqual(['200', []]);
    expect(codeOf(await service.get('/v1/session', { bearer }))).toBe('401 session_required');
    // The same token as a cookie is not a session either.
    expect((await service.get('/v1/session', { cookies: `svc_session=${bearer}` })).body.authenticated).toBe(false);
    expect((await service.get('/v1/session', { cookies })).body.authenticated).toBe(true);
    for (const again of [bearer, 'a.b.c', '']) {
      const repeated = await service.post('/v1/logout', {}, { bearer: again, cookies });
      expect([codeOf(repeated), repeated.setCookies]).toEqual(['200', []]);
    }
    expect((await service.get('/v1/session', { cookies })).body.authenticated).toBe(true);
  });

  test.each([
    ['/v1/trial/link', {}],
    ['/v1/pair/claim', { token: 'no token' }],
    ['/v1/subscription/purchase', { purchaseToken: 'a-purchase-token' }],
  ])('POST %s refuses a bearer that signed out elsewhere, though it could answer without a script', async (path, body) => {
    await using other = await start({ settings: { STORE: 'off' } });
    const bearer = await tokenFor(other, freshId());
    await service.post('/v1/logout', {}, { bearer });
    expect(codeOf(await other.post(path, body, { bearer, cookies: await signIn(other, freshId()) }))).toBe('401 session_required');
    expect(codeOf(await other.post(path, body, { bearer }))).toBe('401 session_required');
  });

  test('store-provision moves the guest of the bearer, not that of the cookie beside it', async () => {
    const [one, other] = [freshId(), freshId()];
    for (const [installId, coins] of [[one, 3] as const, [other, 4] as const])
      await service.post('/v1/coins/credit', { installId, coins, key: 'a' });
    const bearer = await tokenFor(service, one);
    const { body } = await signInToStore(service, freshId('subject'), { bearer, cookies: await signIn(service, other) });
    expect([body.movedCoins, await balanceOf(other)]).toEqual([3, 4]);
    expect(codeOf(await credit({ bearer }))).toBe('401 sign_in_required');
  });

  test('no log line holds a token', async () => {
    const bearers = [await tokenFor(service, freshId()), 'a.b.c', 'x'.repeat(600)];
    await service.post('/v1/logout', {}, { bearer: bearers[0]! });
    for (const bearer of bearers) {
      await credit({ bearer });
      await service.post('/v1/account/store-provision', { token: 'a.b.c' }, { bearer });
      await service.get('/nowhere', { bearer });
    }
    // An unexpected failure is logged. Here the ledger is not a list.
    const broken = freshId();
    bearers.push(await tokenFor(service, broken));
    const { accountId } = (await service.post('/v1/account/resolve', { installId: broken })).body;
    await service.service.redis.set(`{${accountId}}:ledger`, 'not a list');
    expect(codeOf(await credit({ bearer: bearers.at(-1)! }))).toBe('500 internal');
    expect(logLines.some((line) => line.includes('request failed'))).toBe(true);
    const written = logLines.join('') + (await service.get('/metrics')).body;
    for (const secret of bearers.filter((bearer) => bearer !== 'a.b.c'))
      for (const part of [secret, secret.split('.').at(-1)!]) expect(written).not.toContain(part);
  });
});

test('GET /v1/session hands out a new token past half its life, and no other answer has one', async () => {
  await using own = await start();
  const first = await tokenFor(own, freshId());
  expect((await own.get('/v1/session', { bearer: first })).body.sessionToken).toBeUndefined();
  own.advance(16 * DAY_MS);
  for (const reply of [
    await own.post('/v1/coins/credit', { coins: 1, key: 'a' }, { bearer: first }),
    await own.get('/v1/balance', { bearer: first }),
    await own.get('/v1/coins/history', { bearer: first }),
  ]) {
    expect([reply.status, reply.setCookies, reply.body.sessionToken]).toEqual([200, [], undefined]);
  }
  const renewed = await own.get('/v1/session', { bearer: first });
  expect([renewed.status, renewed.setCookies, renewed.headers.get('cache-control')]).toEqual([200, [], 'no-store']);
  const { sessionToken, expiresAt, accountId } = renewed.body;
  expect(sessionToken).not.toBe(first);
  expect(Math.abs(Date.parse(expiresAt) - own.now() - SESSION_LIFE_MS)).toBeLessThan(5000);
  // The new token is not renewed again at once, and the old one ends when it would have ended.
  const { body } = await own.get('/v1/session', { bearer: sessionToken });
  expect(body).toEqual({ ok: true, authenticated: true, accountId, expiresAt, installVerified: false });
  own.advance(15 * DAY_MS);
  expect((await own.get('/v1/session', { bearer: first })).status).toBe(401);
  expect((await own.get('/v1/session', { bearer: sessionToken })).status).toBe(200);
});

test('a request with a bearer costs one round trip to Redis, and none once its session is known to have ended', async () => {
  await using redis = await startRedis();
  await using own = await start({ redis: redis.location });
  await using other = await start({ redis: redis.location });
  const bearer = await tokenFor(own, freshId());
  await own.post('/v1/coins/credit', { coins: 1, key: 'warm-up' }, { bearer });
  await own.get('/v1/session', { bearer });
  await other.post('/v1/logout', {}, { bearer: await tokenFor(other, freshId()) });

  await expectCommands(own, [
    [() => own.post('/v1/coins/credit', { coins: 5, key: 'a' }, { bearer }), ['evalsha']],
    [() => own.get('/v1/session', { bearer }), ['evalsha']],
    [() => own.get('/v1/session', { bearer: 'a.b.c' }), []],
    [() => other.post('/v1/logout', {}, { bearer }), ['evalsha']],
    [() => own.post('/v1/coins/credit', { coins: 5, key: 'b' }, { bearer }), ['evalsha']],
    [() => own.post('/v1/coins/credit', { coins: 5, key: 'b' }, { bearer }), []],
  ]);
});
