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

  test.each([
    ['missing', {}],
    ['null', { installId: null }],
    ['a number', { installId: 12_345_678 }],
    ['too short', { installId: 'install' }],
    ['too long', { installId: 'i'.repeat(129) }],
    ['with a blank', { installId: 'install 0001' }],
    ['beyond ASCII', { installId: 'installé-0001' }],
  ])('refuses an installId and sets no cookie when it is: %s', async (_name, sent) => {
    const { status, body, setCookies } = await service.post(path, sent);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'installId']);
    expect(setCookies).toEqual([]);
  });

  test('a request from another site with a cookie is refused with cross_site', async () => {
    const { cookies } = await service.post(path, { installId: freshId() });
    const { status, body, setCookies } = await service.post(
      path,
      { installId: freshId() },
      { cookies, headers: { origin: 'https://elsewhere.example' } },
    );
    expect([status, body.error.code, setCookies]).toEqual([403, 'cross_site', []]);
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

  test('is not created beyond the creation limit of the address', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '1' } });
    expect((await limited.post('/v1/login', { installId: freshId() })).status).toBe(200);
    const installId = freshId();
    const { status, body, setCookies } = await limited.post('/v1/login', { installId });
    expect([status, body.error.code, setCookies]).toEqual([429, 'rate_limited', []]);
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
  });

  test('is created by the first login', async () => {
    const installId = freshId();
    await service.post('/v1/login', { installId });
    expect((await service.post('/v1/account/resolve', { installId })).body.created).toBe(false);
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
  test('names algorithm and key id and does not contain the installId', async () => {
    const installId = freshId();
    const { cookies } = await service.post('/v1/login', { installId });
    const parts = cookies[0]!.slice('svc_session='.length).split('.').slice(0, 2);
    const text = parts.map((part) => Buffer.from(part, 'base64url').toString()).join();
    expect(text).toContain('"alg":"HS256"');
    expect(text).toContain('"kid":"test"');
    expect(text).not.toContain(installId);
  });

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
