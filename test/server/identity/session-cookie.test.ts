import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseSessionKeys } from '../../../src/config.ts';
import { freshId, signIn, start, type TestService } from '../../harness.ts';

let service: TestService;
let installId: string;
let cookie: string;
beforeAll(async () => {
  service = await start();
  installId = freshId();
  cookie = await signIn(service, installId);
});
afterAll(() => service[Symbol.asyncDispose]());

const authenticated = async (cookies: string | string[], on = service): Promise<boolean> =>
  (await on.get('/v1/session', { cookies })).body.authenticated;
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const claims = () => JSON.parse(Buffer.from(cookie.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
const secret = Buffer.alloc(32, 7);
const signed = (header: object, payload: object, key = secret): string => {
  const text = `${encode(header)}.${encode(payload)}`;
  return `svc_session=${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
};

test('the cookie as given is a session', async () => {
  expect(await authenticated(cookie)).toBe(true);
});

test('with any byte flipped it is none', async () => {
  const start = 'svc_session='.length;
  for (let position = start; position < cookie.length; position++) {
    // The neighbour in the alphabet differs in the lowest bit: the hardest flip to notice.
    const flipped = String.fromCharCode(cookie.charCodeAt(position) ^ 1);
    const forged = cookie.slice(0, position) + flipped + cookie.slice(position + 1);
    expect([position, await authenticated(forged)]).toEqual([position, false]);
  }
});

test('with another last character of its signature, which may decode to the same bytes, it is none', async () => {
  for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
    if (last === cookie.at(-1)) continue;
    expect([last, await authenticated(cookie.slice(0, -1) + last)]).toEqual([last, false]);
  }
});

describe('forged', () => {
  test('what these forgeries are made of is right: signed properly, they pass', async () => {
    expect(await authenticated(signed({ alg: 'HS256', kid: 'test' }, claims()))).toBe(true);
  });

  test.each<[string, () => string]>([
    ['alg none', () => `svc_session=${encode({ alg: 'none' })}.${encode(claims())}.`],
    [
      'alg none with the old signature',
      () => `svc_session=${encode({ alg: 'none', kid: 'test' })}.${cookie.split('.').slice(1).join('.')}`,
    ],
    ['an unknown kid', () => signed({ alg: 'HS256', kid: 'other' }, claims())],
    ['no kid', () => signed({ alg: 'HS256' }, claims())],
    ['kid __proto__', () => signed({ alg: 'HS256', kid: '__proto__' }, claims())],
    ['another key', () => signed({ alg: 'HS256', kid: 'test' }, claims(), Buffer.alloc(32, 8))],
    ['another algorithm', () => signed({ alg: 'HS512', kid: 'test' }, claims())],
    ['the audience of a device cookie', () => signed({ alg: 'HS256', kid: 'test' }, { ...claims(), aud: 'device' })],
    ['no audience', () => signed({ alg: 'HS256', kid: 'test' }, { ...claims(), aud: undefined })],
    ['no expiry', () => signed({ alg: 'HS256', kid: 'test' }, { ...claims(), exp: undefined })],
    ['no id', () => signed({ alg: 'HS256', kid: 'test' }, { ...claims(), jti: undefined })],
    ['an expiry in the past', () => signed({ alg: 'HS256', kid: 'test' }, { ...claims(), exp: Math.floor(Date.now() / 1000) - 1 })],
    ['an unknown critical header', () => signed({ alg: 'HS256', kid: 'test', crit: ['x'], x: 1 }, claims())],
    ['a payload that is no JSON', () => signed({ alg: 'HS256', kid: 'test' }, Buffer.from('x') as unknown as object)],
    ['nothing', () => 'svc_session='],
    ['dots', () => 'svc_session=..'],
    ['8 KB', () => `svc_session=${'a'.repeat(8000)}.b.c`],
  ])('%s is no session', async (_name, forge) => {
    expect(await authenticated(forge())).toBe(false);
  });
});

describe('two session cookies', () => {
  test('that differ are none: one of them may be planted', async () => {
    const other = await signIn(service, freshId());
    expect(await authenticated([cookie, other])).toBe(false);
    expect(await authenticated([other, cookie])).toBe(false);
  });

  test('that are the same are one', async () => {
    expect(await authenticated([cookie, cookie])).toBe(true);
  });

  test('a cookie whose name only ends alike is not looked at', async () => {
    expect(await authenticated(`x${cookie}`)).toBe(false);
    expect(await authenticated([`x${await signIn(service, freshId())}`, cookie])).toBe(true);
  });
});

test('a key rotates without signing anybody out', async () => {
  const fresh = `new:${Buffer.alloc(32, 9).toString('base64url')}`;
  const old = `test:${secret.toString('base64url')}`;
  await using rotated = await start({ sessionKeys: parseSessionKeys(`${fresh},${old}`) });
  expect(await authenticated(cookie, rotated)).toBe(true);
  const newCookie = await signIn(rotated, installId);
  expect(JSON.parse(Buffer.from(newCookie.split('=')[1]!.split('.')[0]!, 'base64url').toString())).toEqual({ alg: 'HS256', kid: 'new' });
  expect(await authenticated(newCookie, rotated)).toBe(true);
  // A process that does not have the new key yet does not know it; one that dropped the old key no longer knows that.
  expect(await authenticated(newCookie)).toBe(false);
  await using dropped = await start({ sessionKeys: parseSessionKeys(fresh) });
  expect(await authenticated(cookie, dropped)).toBe(false);
});

test('signed out on one process it is refused at once on another that remembered it', async () => {
  await using other = await start();
  const mine = await signIn(service, freshId());
  expect(await authenticated(mine, other)).toBe(true);
  await service.post('/v1/logout', undefined, { cookies: mine });
  expect(await authenticated(mine, other)).toBe(false);
  const { status, body } = await other.post('/v1/coins/credit', { coins: 1, key: 'a' }, { cookies: mine });
  expect([status, body.error.code]).toEqual([401, 'identity_required']);
});

test('a session decides who calls, whatever installId also says, and be it nonsense', async () => {
  for (const other of [null, '', 'short', 7, freshId()]) {
    const { body } = await service.post('/v1/coins/credit', { installId: other, coins: 1, key: `k-${String(other)}` }, { cookies: cookie });
    expect(body).toMatchObject({ ok: true });
  }
  expect((await service.get('/v1/balance?installId=short', { cookies: cookie })).body).toEqual({ ok: true, balanceCoins: 5 });
  const refused = await service.post('/v1/coins/credit', { installId: null, coins: 1, key: 'k' }, { cookies: 'svc_session=a.b.c' });
  expect([refused.status, refused.body.error.field]).toEqual([400, 'installId']);
  const nobody = await service.get('/v1/balance?installId=');
  expect([nobody.status, nobody.body.error.code]).toEqual([401, 'identity_required']);
});

test('cookies are Secure in development too where a trusted proxy says https, or PUBLIC_URL does', async () => {
  const login = async (on: TestService, headers: Record<string, string> = {}) =>
    (await on.post('/v1/login', { installId: freshId() }, { headers })).setCookies[0]!;
  await using proxied = await start({ settings: { TRUSTED_PROXIES: '127.0.0.1' } });
  expect(await login(proxied)).not.toContain('Secure');
  expect(await login(proxied, { 'x-forwarded-proto': 'https' })).toMatch(/; Secure$/);
  expect(await login(service, { 'x-forwarded-proto': 'https' })).not.toContain('Secure');
  await using published = await start({ settings: { PUBLIC_URL: 'https://play.example' } });
  expect(await login(published)).toMatch(/; Secure$/);
});

test('an invalid session falls back to the installId, if one is given', async () => {
  const mine = freshId();
  const { body } = await service.post('/v1/coins/credit', { installId: mine, coins: 3, key: 'a' }, { cookies: 'svc_session=a.b.c' });
  expect(body).toEqual({ ok: true, balanceAfterCoins: 3 });
});
