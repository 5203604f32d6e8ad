import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { codeOf, freshId, signIn, start, type TestReply, type TestService } from '../../harness.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

let service: TestService;
// A service for each test, because most tests move its clock.
beforeEach(async () => void (service = await start({ stoppedClock: true })));
afterEach(() => service[Symbol.asyncDispose]());

const session = (cookies: string): Promise<TestReply> => service.get('/v1/session', { cookies });
const claimsOf = (cookie: string) =>
  JSON.parse(Buffer.from(cookie.split('.')[1]!, 'base64url').toString()) as { jti: string; sub: string; iat: number; exp: number };
const NOBODY = { ok: true, authenticated: false };

describe('GET /v1/session', () => {
  test('answers authenticated: false without a session, also when an installId is named', async () => {
    const headers = { 'x-install-id': freshId() };
    for (const [path, options] of [['/v1/session'], [`/v1/session?installId=${freshId()}`], ['/v1/session', { headers }]] as const)
      expect((await service.get(path, options)).body).toEqual(NOBODY);
  });

  test('the session ends after 30 days when nothing uses it in its second half', async () => {
    const cookies = await signIn(service, freshId());
    service.advance(30 * DAY_MS - 5000);
    expect((await session(cookies)).body.authenticated).toBe(true);
    service.advance(5000);
    expect((await session(cookies)).body).toEqual(NOBODY);
    expect(codeOf(await service.get('/v1/coins/history', { cookies }))).toBe('401 session_required');
    expect(codeOf(await service.post('/v1/coins/credit', { coins: 1, key: 'a' }, { cookies }))).toBe('401 identity_required');
  });
});

describe('renewal of a session', () => {
  test('a request in the second half of its life answers with a new cookie of the same session', async () => {
    const first = await signIn(service, freshId());
    service.advance(15 * DAY_MS - 5 * MINUTE_MS);
    expect((await session(first)).setCookies).toEqual([]);
    service.advance(10 * MINUTE_MS);
    const { setCookies, cookies } = await session(first);
    expect(setCookies).toEqual([expect.stringMatching(/^svc_session=[\w.-]+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/)]);
    const [before, after] = [claimsOf(first), claimsOf(cookies[0]!)];
    expect([after.jti, after.sub]).toEqual([before.jti, before.sub]);
    expect(after.exp - before.exp).toBeGreaterThanOrEqual(15 * 86_400);
    // The new cookie is not renewed again at once.
    const { body, setCookies: none } = await session(cookies[0]!);
    expect([body.authenticated, Date.parse(body.expiresAt), none]).toEqual([true, after.exp * 1000, []]);
  });

  test('a session in use lives on past the end of its first cookie', async () => {
    const first = await signIn(service, freshId());
    let cookies = first;
    for (const path of ['/v1/session', '/v1/balance', '/v1/coins/history', '/v1/session']) {
      service.advance(16 * DAY_MS);
      [cookies] = (await service.get(path, { cookies })).cookies as [string];
    }
    expect((await session(cookies)).body.authenticated).toBe(true);
    expect((await session(first)).body.authenticated).toBe(false);
  });

  test.each(['the renewed', 'the old'])('the old and the renewed cookie both end when %s is signed out', async (which) => {
    const old = await signIn(service, freshId());
    service.advance(16 * DAY_MS);
    const renewed = (await session(old)).cookies[0]!;
    await service.post('/v1/logout', {}, { cookies: which === 'the old' ? old : renewed });
    for (const cookies of [old, renewed]) {
      const { body, setCookies } = await session(cookies);
      expect([body, setCookies]).toEqual([NOBODY, []]);
      expect((await service.get('/v1/coins/history', { cookies })).status).toBe(401);
    }
  });
});
