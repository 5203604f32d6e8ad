import { describe, expect, test } from 'vitest';
import { cookieValue, setCookie } from '../../../src/server/identity/cookies.ts';
import { freshId, signIn, start } from '../../harness.ts';

const DAY_MS = 86_400_000;

describe('cookieValue', () => {
  test.each<[title: string, header: string, value: string | undefined]>([
    ['finds the value of the cookie with this name', 'a=1; name=value; b=2', 'value'],
    ['takes an empty value for a value', 'name=', ''],
    ['keeps an equals sign in the value', 'name=a=b', 'a=b'],
    ['drops blanks around name and value', ' name = value ;a=1', 'value'],
    ['finds nothing in an empty header', '', undefined],
    ['finds nothing where the name is absent', 'a=1', undefined],
    ['finds nothing where another name ends alike', 'xname=value', undefined],
    ['finds nothing where the name is a value', 'a=name', undefined],
    ['takes the same value sent twice for one', 'name=value; name=value', 'value'],
    ['takes two different values for none: one of them may be planted', 'name=value; name=other', undefined],
  ])('%s', (_, header, value) => {
    expect(cookieValue(header, 'name')).toBe(value);
  });
});

const DELETION = 'name=; Path=/v1; Max-Age=0; HttpOnly; SameSite=None; Secure';
test.each<[held: string, withNone: string[], withLax: string[]]>([
  ['', [], []],
  ['a=1; xname=1; b=name', [], []],
  ['a=1; name=old', [DELETION], []],
  ['name=old; a=1; name=new', [DELETION], [`${DELETION}; Partitioned`]],
])('a new cookie deletes the cookie of the other kind from a browser that sent "%s"', (held, withNone, withLax) => {
  const options = { maxAgeSeconds: 60, path: '/v1' };
  const deleted = (['none', 'lax'] as const).map((sameSite) =>
    setCookie('name', 'v', options, { sameSite, secure: false, held }).slice(0, -1),
  );
  expect(deleted).toEqual([withNone, withLax]);
});

describe('with COOKIE_SAME_SITE=none', () => {
  const attributesOf = (setCookies: string[]): string[] => setCookies.map((cookie) => cookie.split('; ').slice(3).join('; '));
  const ATTRIBUTES = 'HttpOnly; SameSite=None; Secure; Partitioned';

  test.each<[mode: string, settings: Record<string, string>]>([
    ['development', {}],
    ['production', { NODE_ENV: 'production', SESSION_KEYS: `k:${'A'.repeat(43)}`, PUBLIC_URL: 'https://play.example', STORE: 'sandbox' }],
  ])('every cookie of the service is for pages of other sites, in %s', async (_, settings) => {
    await using service = await start({ settings: { ...settings, COOKIE_SAME_SITE: 'none' } });
    const installId = freshId();
    const signedIn = await service.post('/v1/login', { installId });
    const touched = await service.post('/v1/trial/touch', { deviceId: freshId('device') });
    const opened = await service.post('/v1/pair/new');
    await service.post('/v1/pair/claim', { token: opened.body.token, installId });
    const paired = await service.get(`/v1/pair/status?token=${opened.body.token}`, { cookies: opened.cookies });
    expect(paired.setCookies[0]).toMatch(/^svc_session=/);
    for (const { setCookies } of [signedIn, touched, opened, paired]) expect(attributesOf(setCookies)).toEqual([ATTRIBUTES]);

    const [cookies] = signedIn.cookies;
    service.advance(16 * DAY_MS);
    const renewed = await service.get('/v1/session', { cookies: cookies! });
    expect(renewed.body.authenticated).toBe(true);
    const cleared = await service.post('/v1/logout', {}, { cookies: cookies! });
    // The first value deletes the cookie that browsers hold from before the setting.
    for (const { setCookies } of [renewed, cleared])
      expect(attributesOf(setCookies)).toEqual(['HttpOnly; SameSite=None; Secure', ATTRIBUTES]);
    expect(renewed.setCookies.map((cookie) => cookie.startsWith('svc_session=;'))).toEqual([true, false]);
    expect(cleared.setCookies.map((cookie) => cookie.startsWith('svc_session=; Path=/; Max-Age=0;'))).toEqual([true, true]);
  });

  test('a foreign page still gets cross_site', async () => {
    await using service = await start({ settings: { COOKIE_SAME_SITE: 'none', ALLOWED_ORIGINS: 'https://play.example' } });
    const cookies = await signIn(service, freshId());
    const from = async (origin: string): Promise<number> =>
      (await service.post('/v1/coins/credit', { coins: 1, key: origin }, { cookies, headers: { origin } })).status;
    expect([await from('https://play.example'), await from('https://elsewhere.example')]).toEqual([200, 403]);
  });
});

test('two session cookies in one request are a session only if they are equal; a name that ends alike does not count', async () => {
  await using service = await start();
  const [one, other] = [await signIn(service, freshId()), await signIn(service, freshId())];
  for (const [cookies, isSession] of [
    [[one, other], false],
    [[other, one], false],
    [[one, one], true],
    [[`x${other}`, one], true],
    [[`x${one}`], false],
  ] as const)
    expect([cookies, (await service.get('/v1/session', { cookies: [...cookies] })).body.authenticated]).toEqual([cookies, isSession]);
});

test('a refusal renews no session, and the next success does', async () => {
  await using service = await start();
  const cookies = await signIn(service, freshId());
  service.advance(16 * DAY_MS);
  const refused = await service.post('/v1/coins/debit', { coins: 1, key: 'a' }, { cookies });
  expect([refused.status, refused.body.error.code, refused.setCookies]).toEqual([409, 'insufficient_coins', []]);
  const done = await service.post('/v1/coins/credit', { coins: 1, key: 'b' }, { cookies });
  expect([done.status, done.setCookies]).toEqual([200, [expect.stringMatching(/^svc_session=/)]]);
});
