import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { readSettings } from '../../../src/config.ts';
import { settingProblems } from '../../../src/setting-checks.ts';
import { forFile, freshId, start, type TestService } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { Browser, consoleSignIn, signedIn } from './person.ts';
import { Provider } from './provider.ts';

/** People who sign in to the console by a provider, and attackers who try to. */
let clock: (() => number) | undefined;
const provider = await forFile(Provider.start(() => clock?.() ?? Date.now()));
const settings = { ADMIN_API: 'on', CONSOLE_SIGN_IN: consoleSignIn(provider) };
const service: TestService = await forFile(start({ settings }));
clock = service.now;

const browser = (): Browser => new Browser(service, provider);
const QUARTER_MS = 15 * 60_000;

test('a person with a mapped group signs in, with the highest role of the groups, and the log names the person', async () => {
  const zoe = await signedIn(service, provider, freshId('zoe'), 'readers', 'helpers', 'others');
  const { body } = await zoe.get('/console/session');
  expect(body).toMatchObject({ role: 'support', provider: 'acme', by: expect.stringMatching(/^person:[a-z0-9]{16}$/) });
  expect(body.name).toMatch(/^zoe-.* of Acme$/);
  const accountId = await anAccount();
  const done = await zoe.change('accounts adjust', `/v1/admin/accounts/${accountId}/adjust`, {
    accountId,
    coins: 5,
    key: 't',
    reason: 'test',
  });
  expect(done.body).toMatchObject({ balanceAfterCoins: 105, logged: { by: body.by } });
  expect((await zoe.get(`/v1/admin/log?operator=${encodeURIComponent(body.name)}`)).body.entries).toHaveLength(1);
  expect((await zoe.get('/console/operators')).body.operators).toContainEqual({ id: body.by, name: body.name });
  expect((await zoe.get(`/v1/admin/accounts/${accountId}/history`)).body.entries[0]).toMatchObject({ by: body.by });
});

test('the sign-in asks with state, nonce and PKCE, and the cookies keep scripts and other sites out', async () => {
  const one = browser();
  const { body, setCookies } = await one.post('/console/sign-in', { provider: 'acme' });
  const { searchParams } = new URL(body.address);
  expect(Object.fromEntries(searchParams)).toMatchObject({
    response_type: 'code',
    scope: 'openid groups',
    redirect_uri: `${service.url}/console/signed-in/acme`,
    state: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  });
  expect(setCookies).toEqual([expect.stringMatching(/^svc_console_flow=[\w.-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/)]);
  await using secure = await start({ settings: { ...settings, PUBLIC_URL: 'https://play.example' } });
  const headers = { origin: 'https://play.example', 'x-console': 'look' };
  const begun = await secure.post('/console/sign-in', { provider: 'acme' }, { headers });
  expect(begun.setCookies[0]).toMatch(/^__Host-svc_console_flow=.*; SameSite=Lax; Secure$/);
  expect(new URL(begun.body.address).searchParams.get('redirect_uri')).toMatch(/^https:/);
});

describe('nobody enters', () => {
  test('without a mapped group, wherever the provider tells groups', async () => {
    for (const groupsAt of ['token', 'userinfo'] as const) {
      provider.groupsAt = groupsAt;
      const one = browser();
      provider.person(freshId('mallory'), 'others', 'constructor', '__proto__');
      expect(await one.signIn()).toBe('/console#/why/no_group');
      expect([...one.cookies.keys()]).toEqual([]);
      expect((await signedIn(service, provider, freshId('zoe'), 'admins')).cookies.has('svc_console')).toBe(true);
    }
    provider.groupsAt = 'token';
    const { groups, ...nobody } = provider.person(freshId('eve'));
    provider.current = { ...nobody, groups: undefined };
    expect([groups, await browser().signIn()]).toEqual([[], '/console#/why/no_group']);
  });

  test('whom the provider refuses', async () => {
    provider.current = undefined;
    expect(await browser().signIn()).toBe('/console#/why/denied');
  });

  test('with a server key in place of a person', async () => {
    const { token } = await makeServerKey(service, ['admin'], { role: 'admin' });
    const headers = { origin: service.url, 'sec-fetch-site': 'same-origin', 'x-console': 'look' };
    const reply = await service.post('/console/session', {}, { bearer: token, headers });
    expect([reply.status, reply.body.error.code, reply.setCookies]).toEqual([403, 'forbidden', []]);
    // A session that a service without CONSOLE_SIGN_IN has opened by a key is none here.
    await using keyed = await start({ settings: { ADMIN_API: 'on' } });
    const cookie = (await keyed.post('/console/session', {}, { bearer: token, headers: { ...headers, origin: keyed.url } })).cookies;
    expect((await keyed.get('/console/session', { cookies: cookie, headers: { 'x-console': 'look' } })).status).toBe(200);
    expect((await service.get('/console/session', { cookies: cookie, headers: { 'x-console': 'look' } })).status).toBe(401);
    // A machine uses its key as before.
    expect((await service.get('/v1/admin/log?limit=1', { bearer: token })).status).toBe(200);
  });

  test('with a token that is not right', async () => {
    const wrong: object[] = [
      { aud: 'another-client' },
      { iss: 'https://evil.example' },
      { nonce: 'another' },
      { exp: 1 },
      { iat: 1 },
      { sub: 'with blank' },
      { aud: ['coinop-console', 'other'], azp: 'other' },
    ];
    for (const claims of wrong) {
      provider.person(freshId('mallory'), 'admins');
      provider.claims = claims as Record<string, unknown>;
      expect([claims, await browser().signIn()]).toEqual([claims, '/console#/why/bad_token']);
    }
    provider.claims = {};
  });

  test('while the provider does not answer', async () => {
    provider.person(freshId('zoe'), 'admins');
    for (const fault of ['/token', '/keys'] as const) {
      if (fault === '/keys') continue;
      provider.faults = { [fault]: (response) => void response.writeHead(500).end() };
      expect(await browser().signIn()).toBe('/console#/why/away');
    }
    provider.faults = {};
    await using dark = await start({
      settings: { ...settings, CONSOLE_SIGN_IN: consoleSignIn(provider, { issuer: 'http://127.0.0.1:1' }) },
    });
    const headers = { origin: dark.url, 'x-console': 'look' };
    const reply = await dark.post('/console/sign-in', { provider: 'acme' }, { headers });
    expect([reply.status, reply.body.error.code]).toEqual([503, 'app_store_unavailable']);
    // However many ask at once, one request asks the provider.
    await using fresh = await start({ settings });
    const before = provider.asked.filter((path) => path.startsWith('/.well-known')).length;
    const many = Array.from({ length: 50 }, () =>
      fresh.post('/console/sign-in', { provider: 'acme' }, { headers: { ...headers, origin: fresh.url } }),
    );
    expect(new Set((await Promise.all(many)).map(({ status }) => status))).toEqual(new Set([200]));
    expect(provider.asked.filter((path) => path.startsWith('/.well-known')).length - before).toBe(1);
  });
});

describe('an attacker', () => {
  test('signs nobody in as somebody else: the answer of the provider counts only in the browser that began', async () => {
    provider.person(freshId('mallory'), 'admins');
    const address = await browser().atProvider();
    const victim = browser();
    // Login CSRF, with and without a sign-in of the victim under way.
    for (const begin of [false, true]) {
      if (begin) await victim.post('/console/sign-in', { provider: 'acme' });
      expect((await victim.navigate(address)).headers.get('location')).toBe('/console#/why/stale');
      expect(victim.cookies.has('svc_console')).toBe(false);
    }
    // It did not disturb the victim's own.
    provider.person(freshId('zoe'), 'admins');
    expect(victim.cookies.has('svc_console_flow')).toBe(true);
  });

  test('uses no address again, and no code of another sign-in', async () => {
    const one = browser();
    provider.person(freshId('zoe'), 'admins');
    const address = await one.atProvider();
    const flow = one.cookies.get('svc_console_flow')!;
    expect((await one.navigate(address)).headers.get('location')).toBe('/console');
    const asked = provider.asked.length;
    one.cookies.set('svc_console_flow', flow);
    expect((await one.navigate(address)).headers.get('location')).toBe('/console#/why/stale');
    expect(provider.asked.length).toBe(asked);
    // Code injection: a code that another browser got, in a sign-in of one's own. PKCE refuses it.
    const stolen = new URL(await browser().atProvider()).searchParams.get('code')!;
    const mallory = browser();
    const own = new URL(await mallory.atProvider());
    own.searchParams.set('code', stolen);
    expect((await mallory.navigate(own.href)).headers.get('location')).toBe('/console#/why/bad_token');
    expect(mallory.cookies.has('svc_console')).toBe(false);
  });

  test('finishes no sign-in after ten minutes, with a changed cookie or state, or by another provider', async () => {
    provider.person(freshId('zoe'), 'admins');
    const late = browser();
    const address = await late.atProvider();
    const [head, payload] = late.cookies.get('svc_console_flow')!.split('.');
    for (const change of [
      (url: URL) => url.searchParams.delete('state'),
      (url: URL) => url.searchParams.set('state', 'a'.repeat(43)),
      (url: URL) => url.searchParams.set('iss', 'https://evil.example'),
      (url: URL) => (url.pathname = '/console/signed-in/other'),
    ]) {
      const url = new URL(address);
      change(url);
      expect((await late.navigate(url.href)).headers.get('location')).toBe('/console#/why/stale');
    }
    const forged = browser();
    forged.cookies.set('svc_console_flow', `${head}.${payload}.${'A'.repeat(43)}`);
    expect((await forged.navigate(address)).headers.get('location')).toBe('/console#/why/stale');
    service.advance(601_000);
    expect((await late.navigate(address)).headers.get('location')).toBe('/console#/why/stale');
  });

  test('leads nobody to another site, and begins no sign-in from another site', async () => {
    const one = browser();
    for (const query of ['next=//evil.example', 'code=a&state=b&redirect_uri=https://evil.example', 'error=%0d%0alocation:x'])
      expect((await one.navigate(`${service.url}/console/signed-in/acme?${query}`)).headers.get('location')).toBe('/console#/why/stale');
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', 'x-console': 'look' };
    expect((await service.post('/console/sign-in', { provider: 'acme' }, { headers })).status).toBe(403);
    expect((await service.post('/console/sign-in', { provider: 'acme' })).body.error.code).toBe('forbidden');
    expect((await one.post('/console/sign-in', { provider: 'none' })).body.error.code).toBe('invalid_request');
  });

  test('fixes no session: a sign-in gives a new one, and ends the one that the browser had', async () => {
    const zoe = await signedIn(service, provider, freshId('zoe'), 'admins');
    const before = zoe.cookies.get('svc_console')!;
    expect(await zoe.signIn()).toBe('/console');
    expect(zoe.cookies.get('svc_console')).not.toBe(before);
    const old = new Browser(service, provider);
    old.cookies.set('svc_console', before);
    expect((await old.get('/console/session')).status).toBe(401);
    expect((await zoe.get('/console/session')).status).toBe(200);
  });
});

describe('groups are asked again every 15 minutes', () => {
  test.each([
    ['by a refresh token, with groups in the ID token', true, 'token'],
    ['by a refresh token, with groups at userinfo', true, 'userinfo'],
    ['by the access token at userinfo', false, 'userinfo'],
  ] as const)('%s', async (_, refreshes, groupsAt) => {
    Object.assign(provider, { givesRefreshTokens: refreshes, groupsAt });
    const zoe = await signedIn(service, provider, freshId('zoe'), 'admins');
    const person = provider.current!;
    const asked = (): number => provider.asked.filter((path) => ['/token', '/userinfo'].includes(path)).length;
    const before = asked();
    service.advance(QUARTER_MS - 120_000);
    expect((await zoe.get('/console/session')).status).toBe(200);
    expect(asked()).toBe(before);
    service.advance(120_000);
    // A view sends many requests together, and another process gets some: one of them asks.
    await using other = await start({ settings });
    other.advance(service.now() - other.now());
    const second = new Browser(other, provider);
    second.cookies.set('svc_console', zoe.cookies.get('svc_console')!);
    const replies = await Promise.all([...Array.from({ length: 10 }, () => zoe.get('/console/session')), second.get('/console/session')]);
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 11 }, () => 200));
    expect(asked() - before).toBe(refreshes && groupsAt === 'userinfo' ? 2 : 1);
    // The next answer is another one.
    service.advance(QUARTER_MS);
    person.groups = ['others'];
    expect((await zoe.get('/v1/admin/log?limit=1')).status).toBe(401);
    person.groups = ['admins'];
    expect((await zoe.get('/v1/admin/log?limit=1')).status).toBe(401);
    Object.assign(provider, { givesRefreshTokens: true, groupsAt: 'token' });
  });

  test('a session ends with another role, and with an account that the provider has closed', async () => {
    for (const change of [{ groups: ['readers'] }, { isOpen: false }]) {
      const zoe = await signedIn(service, provider, freshId('zoe'), 'admins');
      const { by } = (await zoe.get('/console/session')).body;
      Object.assign(provider.current!, change);
      service.advance(QUARTER_MS);
      expect((await zoe.get('/v1/admin/log?limit=1')).status).toBe(401);
      const kept = JSON.parse((await service.service.redis.hget('{console-people}', by))!);
      expect(kept.role).toBe('groups' in change ? 'viewer' : undefined);
    }
  });

  test('nothing is served while the provider does not answer, and the session goes on afterwards', async () => {
    const zoe = await signedIn(service, provider, freshId('zoe'), 'admins');
    service.advance(QUARTER_MS);
    provider.faults = { '/token': (response) => void response.writeHead(502).end() };
    expect((await zoe.get('/v1/admin/log?limit=1')).body.error.code).toBe('store_unavailable');
    provider.faults = {};
    expect((await zoe.get('/v1/admin/log?limit=1')).status).toBe(200);
  });

  test('Redis has no token of the provider in the clear', async () => {
    const zoe = await signedIn(service, provider, freshId('zoe'), 'admins');
    const { by } = (await zoe.get('/console/session')).body;
    const [text] = Object.values(await service.service.redis.hgetall(`{console:${by}}`));
    expect(text).toMatch(/^\d+ \d+ \d+ [\w-]{60,}$/);
    expect(Buffer.from(text!.split(' ')[3]!, 'base64url').toString('latin1')).not.toMatch(/refresh|zoe/);
  });
});

describe('a change that cannot be undone', () => {
  const remove = async (zoe: Browser) => {
    const accountId = await anAccount();
    return zoe.change('accounts delete', `/v1/admin/accounts/${accountId}/delete`, { accountId, reason: 'test' });
  };

  test('needs a fresh proof of the identity, of the same person, which the provider has really asked for', async () => {
    const sub = freshId('zoe');
    const zoe = await signedIn(service, provider, sub, 'admins');
    expect((await remove(zoe)).status).toBe(200);
    service.advance(360_000);
    expect((await remove(zoe)).body.error).toMatchObject({
      needs: 'key',
      message: 'This cannot be undone: prove once more that it is you.',
    });
    // A provider that signs in whoever it knows proves nothing.
    provider.ignoresPrompt = true;
    expect(await zoe.signIn({ confirm: true })).toBe('/console#/why/not_fresh');
    provider.ignoresPrompt = false;
    const self = provider.current!;
    provider.person(freshId('mallory'), 'admins');
    expect(await zoe.signIn({ confirm: true })).toBe('/console#/why/other_person');
    expect((await remove(zoe)).status).toBe(403);
    provider.current = self;
    expect(await zoe.signIn({ confirm: true })).toBe('/console#/confirmed');
    expect((await remove(zoe)).status).toBe(200);
    expect((await zoe.get('/console/session')).body.by).toBe((await zoe.get('/console/session')).body.keyId);
  });

  test('a sign-out ends copies of the cookie, and confirms nothing', async () => {
    const zoe = await signedIn(service, provider, freshId('zoe'), 'admins');
    const copy = new Browser(service, provider);
    for (const [name, value] of zoe.cookies) copy.cookies.set(name, value);
    const address = await zoe.atProvider({ confirm: true });
    expect((await zoe.post('/console/session/end', {})).status).toBe(200);
    expect((await copy.get('/console/session')).status).toBe(401);
    expect((await zoe.navigate(address)).headers.get('location')).toBe('/console#/why/ended');
  });
});

test('settings that would let players in, or nobody, or whose text is no JSON, stop the start without quoting a secret', () => {
  const problemsOf = (value: string, more: Record<string, string> = {}): string[] =>
    readSettings({ NODE_ENV: 'test', CONSOLE_SIGN_IN: value, ...more }, settingProblems).problems;
  const [first] = problemsOf('[{"name":"acme","clientSecret":"hush"}]');
  expect(first).toMatch(/^CONSOLE_SIGN_IN must be JSON such as .*: see 0\.issuer$/);
  expect(first).not.toContain('hush');
  expect(problemsOf('not JSON')[0]).toMatch(/^CONSOLE_SIGN_IN must be JSON/);
  const row = { name: 'acme', issuer: 'https://id.example', clientId: 'c', groups: { a: 'admin' } };
  const problem = (...rows: object[]): string | undefined => problemsOf(JSON.stringify(rows))[0];
  expect(problem(row)).toBeUndefined();
  expect(problem({ ...row, groups: { a: 'owner' } })).toBe(
    'CONSOLE_SIGN_IN gives a group of acme a role that is none of viewer, support, economist, admin',
  );
  expect(problem({ ...row, groups: {} })).toBe('CONSOLE_SIGN_IN gives no group of acme a role, so nobody could sign in');
  expect(problem({ ...row, issuer: 'http://id.example' })).toContain('that is not an https URL');
  expect(problem(row, { ...row, issuer: 'https://other.example' })).toBe('CONSOLE_SIGN_IN names two providers acme');
  expect(problem(row, { ...row, name: 'b', issuer: 'https://id.example/' })).toContain('two providers with the issuer');
  expect(problem({ ...row, issuer: 'https://accounts.google.com' })).toContain('with which players sign in');
  expect(problemsOf(JSON.stringify([row]), { OPENID_PROVIDERS: 'p=https://id.example=client' })[0]).toContain('with which players sign in');
});

async function anAccount(): Promise<string> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins: 100, key: 'welcome' });
  return accountIdOf(installId);
}
