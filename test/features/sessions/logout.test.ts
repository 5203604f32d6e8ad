import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { api } from '../../../src/api.ts';
import { accountIdOf, signedOutKey } from '../../../src/server/caller.ts';
import { freshId, request, signIn, start, type TestService } from '../../harness.ts';

const DAY_MS = 86_400_000;

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

const logout = (cookies?: string) => service.post('/v1/logout', {}, cookies === undefined ? {} : { cookies });
const isSignedIn = async (cookies: string, on = service): Promise<boolean> => (await on.get('/v1/session', { cookies })).body.authenticated;

describe('logout', () => {
  test('ends the session and takes the cookie away', async () => {
    const cookies = await signIn(service, freshId());
    expect(await isSignedIn(cookies)).toBe(true);
    const { status, body, setCookies } = await logout(cookies);
    expect([status, body]).toEqual([200, { ok: true }]);
    expect(setCookies).toEqual(['svc_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax']);
    expect(await isSignedIn(cookies)).toBe(false);
  });

  test('without a session is 200, and again is 200', async () => {
    expect((await logout()).body).toEqual({ ok: true });
    expect((await logout('svc_session=forged')).body).toEqual({ ok: true });
    const cookies = await signIn(service, freshId());
    for (let index = 0; index < 3; index++) expect((await logout(cookies)).body).toEqual({ ok: true });
    expect(await isSignedIn(cookies)).toBe(false);
  });

  test('takes no body for an empty one', async () => {
    const cookies = await signIn(service, freshId());
    expect((await request(service.url, '/v1/logout', { method: 'POST', cookies })).body).toEqual({ ok: true });
    expect(await isSignedIn(cookies)).toBe(false);
  });

  test.each(['[]', 'null', '"text"'])('with the body %s is refused, and the session stays', async (text) => {
    const cookies = await signIn(service, freshId());
    const { status, body } = await request(service.url, '/v1/logout', { method: 'POST', cookies }, text);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'body']);
    expect(await isSignedIn(cookies)).toBe(true);
  });

  test('from another site is cross_site, and the session stays', async () => {
    const cookies = await signIn(service, freshId());
    const { status, body } = await service.post('/v1/logout', {}, { cookies, headers: { origin: 'https://elsewhere.example' } });
    expect([status, body.error.code]).toEqual([403, 'cross_site']);
    expect(await isSignedIn(cookies)).toBe(true);
  });

  test('leaves the other sessions of the account, and lets it sign in again', async () => {
    const installId = freshId();
    const [first, second] = [await signIn(service, installId), await signIn(service, installId)];
    await logout(first);
    expect(await isSignedIn(second)).toBe(true);
    expect(await isSignedIn(await signIn(service, installId))).toBe(true);
    expect(await isSignedIn(first)).toBe(false);
  });

  test('by 20 at once is 200 for each', async () => {
    const cookies = await signIn(service, freshId());
    const replies = await Promise.all(Array.from({ length: 20 }, () => logout(cookies)));
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(await isSignedIn(cookies)).toBe(false);
  });
});

describe('on every service with the same Redis', () => {
  test('it holds at once, also where the session was just in use', async () => {
    await using other = await start();
    const installId = freshId();
    const cookies = await signIn(service, installId);
    expect((await other.post('/v1/coins/credit', { coins: 5, key: 'a' }, { cookies })).status).toBe(200);
    expect((await other.get('/v1/coins/history', { cookies })).status).toBe(200);
    await logout(cookies);

    const write = await other.post('/v1/coins/credit', { coins: 5, key: 'b' }, { cookies });
    expect([write.status, write.body.error.code]).toEqual([401, 'identity_required']);
    const history = await other.get('/v1/coins/history', { cookies });
    expect([history.status, history.body.error.code]).toEqual([401, 'session_required']);
    expect(await isSignedIn(cookies, other)).toBe(false);
    expect((await other.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(5);
  });

  test('of many writes under way, none comes through after it was answered', async () => {
    await using other = await start();
    const installId = freshId();
    const cookies = await signIn(service, installId);
    let loggedOut = false;
    const late: number[] = [];
    const writing = Promise.all(
      Array.from({ length: 20 }, async (_, writer) => {
        for (let index = 0; index < 15; index++) {
          const sentAfter = loggedOut;
          const { status } = await other.post('/v1/coins/credit', { coins: 1, key: `${writer}-${index}` }, { cookies });
          if (sentAfter) late.push(status);
        }
      }),
    );
    await logout(cookies);
    loggedOut = true;
    await writing;
    expect(late.length).toBeGreaterThan(0);
    expect(new Set(late)).toEqual(new Set([401]));
  });

  test('a cookie signed out is never renewed, whatever is asked with it', async () => {
    await using other = await start();
    const installId = freshId();
    const cookies = await signIn(service, installId);
    await logout(cookies);
    other.advance(20 * DAY_MS);
    const asked = api.filter(({ method, caller, params }) => method === 'GET' && caller !== 'none' && params === undefined);
    expect(asked.length).toBeGreaterThan(2);
    for (const { path } of asked) expect((await other.get(path, { cookies })).setCookies).toEqual([]);
    expect((await other.post('/v1/coins/credit', { installId, coins: 1, key: 'a' }, { cookies })).setCookies).toEqual([]);
  });

  test('is remembered for as long as the cookie could live', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    await logout(cookies);
    const { jti } = JSON.parse(Buffer.from(cookies.split('.')[1]!, 'base64url').toString()) as { jti: string };
    const ttlSeconds = await service.service.redis.ttl(signedOutKey(accountIdOf(installId), jti));
    expect(ttlSeconds).toBeGreaterThan(30 * 86_400 - 10);
    expect(ttlSeconds).toBeLessThanOrEqual(30 * 86_400);
  });
});
