import { describe, expect, test } from 'vitest';
import { forFile, freshId, signIn, start, tokenFor } from '../../harness.ts';
import { areSignedIn } from './paired.ts';

const DAY_MS = 86_400_000;

const service = await forFile(start());

/** The attributes of a Set-Cookie header, sorted. */
const attributesOf = (setCookie: string): string[] => setCookie.split('; ').slice(1).sort();

describe.each(['/v1/login', '/login'])('POST %s', (path) => {
  test('signs the account of the install in for 30 days, by a cookie that is HttpOnly, SameSite=Lax and bound to this host', async () => {
    const installId = freshId();
    const before = service.now();
    for (const session of ['cookie', undefined]) {
      const { body, cookies, setCookies } = await service.post(path, { installId, session });
      const { accountId, expiresAt } = body;
      expect(body).toEqual({ ok: true, accountId: expect.stringMatching(/^[\w-]{22}$/), expiresAt: expect.any(String) });
      expect(Date.parse(expiresAt)).toBeGreaterThan(before + 30 * DAY_MS - 1000);
      expect(Date.parse(expiresAt)).toBeLessThanOrEqual(service.now() + 30 * DAY_MS);
      expect(setCookies).toEqual([expect.stringMatching(/^svc_session=[\w-]+\.[\w-]+\.[\w-]+; /)]);
      expect(attributesOf(setCookies[0]!)).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax']);
      const shown = { ok: true, authenticated: true, accountId, expiresAt, installVerified: false };
      expect((await service.get('/v1/session', { cookies })).body).toEqual(shown);
    }
  });

  test('with session: token, or for a request with a bearer, answers with the token and sets no cookie', async () => {
    await using later = await start();
    const [cookies, bearer] = [await signIn(later, freshId()), await tokenFor(later, freshId())];
    // A cookie past half its life stays as it is too.
    later.advance(16 * DAY_MS);
    for (const [session, options] of [
      ['token', {}],
      ['token', { cookies }],
      ['cookie', { bearer }],
      [undefined, { bearer }],
    ] as const) {
      const { body, setCookies, headers } = await later.post(path, { installId: freshId(), session }, options);
      expect([setCookies, headers.get('cache-control')]).toEqual([[], 'no-store']);
      const { ok, accountId, expiresAt, sessionToken } = body;
      const shown = { ok, authenticated: true, accountId, expiresAt, installVerified: false };
      expect((await later.get('/v1/session', { bearer: sessionToken })).body).toEqual(shown);
    }
  });
});

test('login and logout set Secure cookies in production', async () => {
  await using production = await start({
    settings: { NODE_ENV: 'production', SESSION_KEYS: `k:${'A'.repeat(43)}`, PUBLIC_URL: 'https://play.example' },
  });
  const { cookies, setCookies } = await production.post('/v1/login', { installId: freshId() });
  expect(attributesOf(setCookies[0]!)).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax', 'Secure']);
  const { setCookies: cleared } = await production.post('/v1/logout', {}, { cookies });
  expect(attributesOf(cleared[0]!)).toEqual(['HttpOnly', 'Max-Age=0', 'Path=/', 'SameSite=Lax', 'Secure']);
});

test('20 concurrent logins of a new install give one account 20 sessions, each of which ends alone', async () => {
  const installId = freshId();
  const paths = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? '/v1/login' : '/login'));
  const replies = await Promise.all(paths.map((path) => service.post(path, { installId })));
  const { accountId } = (await service.post('/v1/account/resolve', { installId })).body;
  expect(replies.map(({ status, body }) => [status, body.accountId])).toEqual(Array(20).fill([200, accountId]));
  const sessions = replies.map(({ cookies }) => cookies[0]!);
  await service.post('/v1/logout', {}, { cookies: sessions[0]! });
  expect(await areSignedIn(service, sessions)).toEqual([false, ...Array(19).fill(true)]);
});

test('a login during a session of another account answers with a cookie for the new account', async () => {
  const { body, cookies } = await service.post('/v1/login', { installId: freshId() }, { cookies: await signIn(service, freshId()) });
  expect((await service.get('/v1/session', { cookies })).body.accountId).toBe(body.accountId);
});
