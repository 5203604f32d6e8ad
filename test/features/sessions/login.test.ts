import { describe, expect, test } from 'vitest';
import { forFile, freshId, start } from '../../harness.ts';

const DAY_MS = 86_400_000;

const service = await forFile(start());

/** The attributes of a Set-Cookie header, sorted. */
const attributesOf = (setCookie: string): string[] => setCookie.split('; ').slice(1).sort();

describe.each(['/v1/login', '/login'])('POST %s', (path) => {
  test('signs the account of the install in for 30 days', async () => {
    const installId = freshId();
    const before = service.now();
    const { body, cookies, setCookies } = await service.post(path, { installId });
    expect(body).toEqual({ ok: true, accountId: expect.stringMatching(/^[\w-]{22}$/), expiresAt: expect.any(String) });
    expect(Date.parse(body.expiresAt)).toBeGreaterThan(before + 30 * DAY_MS - 1000);
    expect(Date.parse(body.expiresAt)).toBeLessThanOrEqual(service.now() + 30 * DAY_MS);
    expect(setCookies).toHaveLength(1);
    const { accountId, expiresAt } = body;
    expect((await service.get('/v1/session', { cookies })).body).toEqual({
      ok: true,
      authenticated: true,
      accountId,
      expiresAt,
      installVerified: false,
    });
  });

  test('sets a cookie that is HttpOnly, SameSite=Lax and bound to this host', async () => {
    const { setCookies } = await service.post(path, { installId: freshId() });
    expect(setCookies[0]).toMatch(/^svc_session=[\w-]+\.[\w-]+\.[\w-]+; /);
    expect(attributesOf(setCookies[0]!)).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax']);
  });

  test('login and logout set Secure cookies in production', async () => {
    await using production = await start({
      settings: { NODE_ENV: 'production', SESSION_KEYS: `k:${'A'.repeat(43)}`, PUBLIC_URL: 'https://play.example' },
    });
    const { cookies, setCookies } = await production.post(path, { installId: freshId() });
    expect(attributesOf(setCookies[0]!)).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax', 'Secure']);
    const { setCookies: cleared } = await production.post('/v1/logout', {}, { cookies });
    expect(attributesOf(cleared[0]!)).toEqual(['HttpOnly', 'Max-Age=0', 'Path=/', 'SameSite=Lax', 'Secure']);
  });
});

describe('the account of a login', () => {
  test('is the same for one install on /v1/login, /login and /v1/account/resolve', async () => {
    const installId = freshId();
    const ids = [
      (await service.post('/v1/login', { installId })).body.accountId,
      (await service.post('/login', { installId })).body.accountId,
      (await service.post('/v1/account/resolve', { installId })).body.accountId,
    ];
    expect(new Set(ids).size).toBe(1);
    expect((await service.post('/v1/login', { installId: freshId() })).body.accountId).not.toBe(ids[0]);
  });

  test('is one account with 20 sessions after 20 concurrent logins of a new install', async () => {
    const installId = freshId();
    const replies = await Promise.all(Array.from({ length: 20 }, () => service.post('/v1/login', { installId })));
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(new Set(replies.map(({ body }) => body.accountId)).size).toBe(1);
    expect(new Set(replies.map(({ cookies }) => cookies[0])).size).toBe(20);
  });

  test('appears in no reply of other endpoints, and neither does the installId', async () => {
    const installId = freshId();
    const { body, cookies } = await service.post('/v1/login', { installId });
    const replies = [
      await service.post('/v1/coins/credit', { coins: 5, key: 'a' }, { cookies }),
      await service.post('/v1/coins/credit', { coins: 5, key: 'a' }, { cookies }),
      await service.post('/v1/coins/debit', { coins: 50, key: 'b' }, { cookies }),
      await service.get('/v1/balance', { cookies }),
      await service.get('/v1/coins/history', { cookies }),
      await service.post('/v1/logout', {}, { cookies }),
      await service.get('/v1/session', { cookies }),
    ];
    for (const reply of replies) {
      const text = JSON.stringify([reply.body, Object.fromEntries(reply.headers)]);
      expect(text).not.toContain(body.accountId);
      expect(text).not.toContain(installId);
    }
  });
});

describe('the session cookie', () => {
  test('every login begins a session of its own', async () => {
    const installId = freshId();
    const [first, second] = [await service.post('/v1/login', { installId }), await service.post('/v1/login', { installId })];
    expect(second.cookies[0]).not.toBe(first.cookies[0]);
    await service.post('/v1/logout', {}, { cookies: first.cookies });
    expect((await service.get('/v1/session', { cookies: first.cookies })).body.authenticated).toBe(false);
    expect((await service.get('/v1/session', { cookies: second.cookies })).body.authenticated).toBe(true);
  });

  test('a login during a session of another account answers with a cookie for the new account', async () => {
    const { cookies: before } = await service.post('/v1/login', { installId: freshId() });
    const { body, cookies } = await service.post('/v1/login', { installId: freshId() }, { cookies: before });
    expect((await service.get('/v1/session', { cookies })).body.accountId).toBe(body.accountId);
  });
});
