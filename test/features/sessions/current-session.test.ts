import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { freshId, signIn, start, type TestReply, type TestService } from '../../harness.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

let service: TestService;
// A service for each test, because most tests move its clock.
beforeEach(async () => void (service = await start()));
afterEach(() => service[Symbol.asyncDispose]());

const session = (cookies: string): Promise<TestReply> => service.get('/v1/session', { cookies });
const claimsOf = (cookie: string) =>
  JSON.parse(Buffer.from(cookie.split('.')[1]!, 'base64url').toString()) as { jti: string; sub: string; iat: number; exp: number };

describe('GET /v1/session', () => {
  test('answers authenticated: false without a session, also when an installId is named', async () => {
    expect((await service.get('/v1/session')).body).toEqual({ ok: true, authenticated: false });
    expect((await service.get(`/v1/session?installId=${freshId()}`)).body).toEqual({ ok: true, authenticated: false });
    expect((await service.get('/v1/session', { headers: { 'x-install-id': freshId() } })).body).toEqual({ ok: true, authenticated: false });
  });

  test('answers with the account and the end of the session', async () => {
    const installId = freshId();
    const { body, cookies } = await service.post('/v1/login', { installId });
    const { accountId, expiresAt } = body;
    expect((await session(cookies[0]!)).body).toEqual({ ok: true, authenticated: true, accountId, expiresAt, installVerified: false });
  });

  test('the session ends after 30 days when nothing uses it in its second half', async () => {
    const cookies = await signIn(service, freshId());
    service.advance(30 * DAY_MS - 5000);
    expect((await session(cookies)).body.authenticated).toBe(true);
    service.advance(5000);
    expect((await session(cookies)).body).toEqual({ ok: true, authenticated: false });
    expect((await service.get('/v1/coins/history', { cookies })).body.error.code).toBe('session_required');
    expect((await service.post('/v1/coins/credit', { coins: 1, key: 'a' }, { cookies })).body.error.code).toBe('identity_required');
  });
});

describe('renewal of a session', () => {
  test('a request in the second half of its life answers with a new cookie of the same session', async () => {
    const installId = freshId();
    const first = await signIn(service, installId);
    expect((await session(first)).setCookies).toEqual([]);
    service.advance(15 * DAY_MS - 5 * MINUTE_MS);
    expect((await session(first)).setCookies).toEqual([]);

    service.advance(10 * MINUTE_MS);
    const { setCookies, cookies } = await session(first);
    expect(setCookies).toEqual([expect.stringMatching(/^svc_session=[\w.-]+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/)]);
    const renewed = cookies[0]!;
    expect(renewed).not.toBe(first);
    const [before, after] = [claimsOf(first), claimsOf(renewed)];
    expect([after.jti, after.sub]).toEqual([before.jti, before.sub]);
    expect(after.exp - before.exp).toBeGreaterThanOrEqual(15 * 86_400);

    // The new cookie is not renewed again at once.
    const { body, setCookies: none } = await session(renewed);
    expect([body.authenticated, none]).toEqual([true, []]);
    expect(Date.parse(body.expiresAt)).toBe(after.exp * 1000);
  });

  test('a session in use lives on past the end of its first cookie', async () => {
    const installId = freshId();
    let cookies = await signIn(service, installId);
    const first = cookies;
    for (let round = 0; round < 4; round++) {
      service.advance(16 * DAY_MS);
      const renewed = (await session(cookies)).cookies;
      expect(renewed).toEqual([expect.stringMatching(/^svc_session=[\w.-]+$/)]);
      cookies = renewed[0]!;
    }
    expect((await session(cookies)).body.authenticated).toBe(true);
    expect((await session(first)).body.authenticated).toBe(false);
  });

  test('every endpoint that takes a session renews it', async () => {
    const cookies = await signIn(service, freshId());
    service.advance(16 * DAY_MS);
    const replies = [
      await service.post('/v1/coins/credit', { coins: 1, key: 'a' }, { cookies }),
      await service.get('/v1/balance', { cookies }),
      await service.get('/v1/coins/history', { cookies }),
    ];
    for (const { status, cookies: renewed } of replies) {
      expect(status).toBe(200);
      expect((await session(renewed[0]!)).body.authenticated).toBe(true);
    }
  });

  test.each(['the renewed', 'the old'])('the old and the renewed cookie both end when %s is signed out', async (which) => {
    const old = await signIn(service, freshId());
    service.advance(16 * DAY_MS);
    const renewed = (await session(old)).cookies[0]!;
    expect([(await session(old)).body.authenticated, (await session(renewed)).body.authenticated]).toEqual([true, true]);
    await service.post('/v1/logout', {}, { cookies: which === 'the old' ? old : renewed });
    for (const cookies of [old, renewed]) {
      const { body, setCookies } = await session(cookies);
      expect([body, setCookies]).toEqual([{ ok: true, authenticated: false }, []]);
      expect((await service.get('/v1/coins/history', { cookies })).status).toBe(401);
    }
  });
});
