import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SESSION_LIFE_MS } from '../../../src/accounts/session-list.ts';
import { Sessions } from '../../../src/server/identity/sessions.ts';
import { bearerToken } from '../../../src/server/identity/bearer.ts';
import { TokenSigner } from '../../../src/server/identity/signed-token.ts';
import { freshId, signIn, start, testKeys, tokenFor, type TestReply, type TestService } from '../../harness.ts';
import { expectCommands } from '../../round-trips.ts';
import { startRedis } from '../../own-redis.ts';
import { sendRaw, statusesIn } from '../../raw.ts';
import { issue, signInToStore } from '../../store.ts';

const DAY_MS = 86_400_000;
const FOREIGN = { origin: 'https://elsewhere.example' };

describe('bearerToken', () => {
  test.each<[title: string, header: string, token: string | undefined]>([
    ['takes the token', 'Bearer a.b.c', 'a.b.c'],
    ['takes the scheme in any case', 'bEARER a.b.c', 'a.b.c'],
    ['takes several blanks before the token', 'Bearer   a.b.c', 'a.b.c'],
    ['takes a bearer without a token for a token that is empty', 'Bearer', ''],
    ['keeps what stands behind the token', 'Bearer a.b.c d', 'a.b.c d'],
    ['keeps a tab, which does not end the scheme', 'Bearer\ta.b.c', '\ta.b.c'],
    ['keeps a NUL', 'Bearer\0a.b.c', '\0a.b.c'],
    ['keeps a comma', 'Bearer, a.b.c', ', a.b.c'],
    ['ignores an empty header', '', undefined],
    ['ignores Basic', 'Basic YTpi', undefined],
    ['ignores a scheme that begins alike', 'Bearers a.b.c', undefined],
    ['ignores a token without a scheme', 'a.b.c', undefined],
  ])('%s', (_, header, token) => {
    expect(bearerToken(header)).toBe(token);
  });
});

describe('the cost of a bearer', () => {
  test('a token of 10 KB is refused within microseconds, though it looks like a token', () => {
    const signer = new TokenSigner(testKeys);
    const token = signer.sign('session', { subject: 'a', id: '0.b', issuedAt: Date.now(), expiresAt: Date.now() + 9999 });
    const [head, claims, signature] = token.split('.') as [string, string, string];
    const long = `${head}.${claims}${'a'.repeat(10_000)}.${signature}`;
    let verified = 0;
    const before = process.cpuUsage();
    for (let round = 0; round < 10_000; round++) if (signer.verify('session', long, Date.now()) !== undefined) verified++;
    const { user, system } = process.cpuUsage(before);
    expect(verified).toBe(0);
    // In µs of CPU time. The pattern and the signature of 10 KB take more than ten.
    expect((user + system) / 10_000).toBeLessThan(3);
  });
});

describe('through the server', () => {
  let service: TestService;
  let logLines: string[];
  beforeAll(async () => void (service = await start({ logLines: (logLines = []) })));
  afterAll(() => service[Symbol.asyncDispose]());

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

  test.each(['', 'Basic YTpi', 'Digest username="a"', 'Negotiate', 'BearerX a.b.c'])(
    'the header Authorization "%s" is ignored',
    async (authorization) => {
      const installId = freshId();
      const cookies = await signIn(service, installId);
      const reply = await service.post('/v1/coins/credit', { coins: 1, key: 'a' }, { cookies, headers: { authorization } });
      expect([codeOf(reply), await balanceOf(installId)]).toEqual(['200', 1]);
    },
  );

  test.each(['Bearer', 'bearer a.b.c', 'BEARER null', 'Bearer undefined', 'Bearer, a'])(
    'the header Authorization "%s" is refused with session_required',
    async (authorization) => {
      const cookies = await signIn(service, freshId());
      const { status, body, headers } = await service.get('/v1/session', { cookies, headers: { authorization } });
      expect([status, body.error]).toEqual([
        401,
        { code: 'session_required', message: 'The session token is not valid or its session has ended: sign in again.' },
      ]);
      expect(headers.get('cache-control')).toBe('no-store');
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
    expect((await service.get(`/v1/session?access_token=${token}`)).body).toEqual({ ok: true, authenticated: false });
    expect(codeOf(await service.get(`/v1/coins/history?access_token=${token}&sessionToken=${token}`))).toBe('401 session_required');
  });

  test('a device starts its trial beside an invalid bearer, and keeps its cookie beside a valid one', async () => {
    const touched = await service.post('/v1/trial/touch', { deviceId: freshId('device') }, { bearer: 'a.b.c' });
    expect(touched.setCookies).toEqual([expect.stringMatching(/^svc_device=/)]);
    const bearer = await tokenFor(service, freshId());
    const linked = await service.post('/v1/trial/link', {}, { bearer, cookies: touched.cookies });
    expect([codeOf(linked), linked.body.active]).toEqual(['200', true]);
  });

  test('a long-poll of a room ignores an invalid bearer', async () => {
    const { room } = (await service.post('/v1/rooms', { installId: freshId() })).body;
    expect((await service.get(`/v1/rooms/${room.code}?since=0&wait=1`, { bearer: 'a.b.c' })).body.room.seq).toBe(1);
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

  test('signing out everywhere by a bearer ends the cookies of the account', async () => {
    const installId = freshId();
    const [bearer, cookies] = [await tokenFor(service, installId), await signIn(service, installId)];
    expect(codeOf(await service.post('/v1/logout', { everywhere: true }, { bearer }))).toBe('200');
    expect((await service.get('/v1/session', { cookies })).body.authenticated).toBe(false);
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

  describe('store-provision', () => {
    test('moves the guest of the bearer, not that of the cookie beside it', async () => {
      const [one, other] = [freshId(), freshId()];
      for (const [installId, coins] of [[one, 3] as const, [other, 4] as const])
        await service.post('/v1/coins/credit', { installId, coins, key: 'a' });
      const bearer = await tokenFor(service, one);
      const { body } = await signInToStore(service, freshId('subject'), { bearer, cookies: await signIn(service, other) });
      expect(body.movedCoins).toBe(3);
      expect(await balanceOf(other)).toBe(4);
      expect(codeOf(await credit({ bearer }))).toBe('401 sign_in_required');
    });
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
    const metrics = (await service.get('/metrics')).body as string;
    for (const secret of bearers.filter((bearer) => bearer !== 'a.b.c')) {
      expect(logLines.filter((line) => line.includes(secret))).toEqual([]);
      expect(metrics).not.toContain(secret);
      const signature = secret.split('.').at(-1)!;
      expect(logLines.filter((line) => line.includes(signature))).toEqual([]);
    }
  });
});

describe('the renewal of a bearer', () => {
  test('GET /v1/session hands out a new token past half its life, and no other answer has one', async () => {
    await using service = await start();
    const first = await tokenFor(service, freshId());
    expect((await service.get('/v1/session', { bearer: first })).body.sessionToken).toBeUndefined();
    service.advance(16 * DAY_MS);
    for (const reply of [
      await service.post('/v1/coins/credit', { coins: 1, key: 'a' }, { bearer: first }),
      await service.get('/v1/balance', { bearer: first }),
      await service.get('/v1/coins/history', { bearer: first }),
    ]) {
      expect([reply.status, reply.setCookies, reply.body.sessionToken]).toEqual([200, [], undefined]);
    }
    const renewed = await service.get('/v1/session', { bearer: first });
    expect([renewed.status, renewed.setCookies, renewed.headers.get('cache-control')]).toEqual([200, [], 'no-store']);
    const { sessionToken, expiresAt, accountId } = renewed.body;
    expect(sessionToken).not.toBe(first);
    expect(Math.abs(Date.parse(expiresAt) - service.now() - SESSION_LIFE_MS)).toBeLessThan(5000);
    // The new token is not renewed again at once, and the old one ends when it would have ended.
    const { body } = await service.get('/v1/session', { bearer: sessionToken });
    expect(body).toEqual({ ok: true, authenticated: true, accountId, expiresAt, installVerified: false });
    service.advance(15 * DAY_MS);
    expect((await service.get('/v1/session', { bearer: first })).status).toBe(401);
    expect((await service.get('/v1/session', { bearer: sessionToken })).status).toBe(200);
  });

  test('signing out ends the old and the new token', async () => {
    await using service = await start();
    const first = await tokenFor(service, freshId());
    service.advance(16 * DAY_MS);
    const { sessionToken } = (await service.get('/v1/session', { bearer: first })).body;
    await service.post('/v1/logout', {}, { bearer: first });
    for (const bearer of [first, sessionToken]) expect((await service.get('/v1/session', { bearer })).status).toBe(401);
  });

  test('a cookie is renewed as a cookie, without a token in the body', async () => {
    await using service = await start();
    const cookies = await signIn(service, freshId());
    service.advance(16 * DAY_MS);
    const { body, setCookies } = await service.get('/v1/session', { cookies });
    expect([body.sessionToken, setCookies.length]).toEqual([undefined, 1]);
  });
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
