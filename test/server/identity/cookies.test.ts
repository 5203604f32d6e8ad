import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cookieValue, setCookie } from '../../../src/server/identity/cookies.ts';
import { freshId, signIn, start, type TestService } from '../../harness.ts';

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

describe('setCookie', () => {
  test('a cookie is HttpOnly and SameSite=Lax, and valid for the whole site', () => {
    expect(setCookie('name', 'value', { maxAgeSeconds: 60, secure: false })).toBe('name=value; Path=/; Max-Age=60; HttpOnly; SameSite=Lax');
  });

  test('a cookie may be Secure, and bound to a path', () => {
    expect(setCookie('name', 'value', { maxAgeSeconds: 0, path: '/v1/pair', secure: true })).toBe(
      'name=value; Path=/v1/pair; Max-Age=0; HttpOnly; SameSite=Lax; Secure',
    );
  });
});

describe('two session cookies in one request', () => {
  let service: TestService;
  beforeAll(async () => void (service = await start()));
  afterAll(() => service[Symbol.asyncDispose]());

  const authenticated = async (cookies: string[]): Promise<boolean> => (await service.get('/v1/session', { cookies })).body.authenticated;

  test('are no session where they differ', async () => {
    const [one, other] = [await signIn(service, freshId()), await signIn(service, freshId())];
    expect(await authenticated([one, other])).toBe(false);
    expect(await authenticated([other, one])).toBe(false);
  });

  test('are a session where they are equal', async () => {
    const cookie = await signIn(service, freshId());
    expect(await authenticated([cookie, cookie])).toBe(true);
  });

  test('are a session where the name of one only ends alike', async () => {
    const cookie = await signIn(service, freshId());
    expect(await authenticated([`x${await signIn(service, freshId())}`, cookie])).toBe(true);
    expect(await authenticated([`x${cookie}`])).toBe(false);
  });
});
