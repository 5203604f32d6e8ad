import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parseSessionKeys } from '../../../src/config.ts';
import { TokenSigner } from '../../../src/server/identity/signed-token.ts';
import { forFile, freshId, signIn, start, testKeys } from '../../harness.ts';

const service = await forFile(start());
const installId = freshId();
const cookie = await signIn(service, installId);

const authenticated = async (cookies: string | string[], on = service): Promise<boolean> =>
  (await on.get('/v1/session', { cookies })).body.authenticated;
const encode = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const claims = () => JSON.parse(Buffer.from(cookie.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
const HEADER = { alg: 'HS256', kid: 'test' };
const secret = Buffer.alloc(32, 7);
const signed = (header: object, payload: object | string, key = secret): string => {
  const text = `${encode(header)}.${encode(payload)}`;
  return `svc_session=${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
};

test('a token with a flipped bit in any byte, or another last character that may decode to the same bytes, is not valid', () => {
  const token = cookie.slice('svc_session='.length);
  const verifies = (text: string): boolean => new TokenSigner(testKeys).verify('session', text, Date.now()) !== undefined;
  expect(verifies(token)).toBe(true);
  for (let position = 0; position < token.length; position++) {
    // The neighbour in the alphabet differs in the lowest bit: the hardest flip to notice.
    const flipped = String.fromCharCode(token.charCodeAt(position) ^ 1);
    expect([position, verifies(token.slice(0, position) + flipped + token.slice(position + 1))]).toEqual([position, false]);
  }
  for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
    expect([last, verifies(token.slice(0, -1) + last)]).toEqual([last, last === token.at(-1)]);
});

describe('a forged session cookie', () => {
  test('is valid with the right header, claims and key: the forgeries below differ in one thing each', async () => {
    expect(await authenticated(signed(HEADER, claims()))).toBe(true);
  });

  test.each<[string, () => string]>([
    ['alg none', () => `svc_session=${encode({ alg: 'none' })}.${encode(claims())}.`],
    ['alg none and the old signature', () => `svc_session=${encode({ alg: 'none', kid: 'test' })}.${cookie.split('.').slice(1).join('.')}`],
    ['another key', () => signed(HEADER, claims(), Buffer.alloc(32, 8))],
    ...[{ kid: 'other' }, { kid: undefined }, { kid: '__proto__' }, { alg: 'HS512' }, { crit: ['x'], x: 1 }].map(
      (header): [string, () => string] => [`the header ${JSON.stringify(header)}`, () => signed({ ...HEADER, ...header }, claims())],
    ),
    ['a header in another order', () => signed({ kid: 'test', alg: 'HS256' }, claims())],
    ...[
      { aud: 'device' },
      { aud: undefined },
      { exp: undefined },
      { exp: Math.floor(Date.now() / 1000) - 1 },
      { exp: '9999999999' },
      { jti: undefined },
    ].map((claim): [string, () => string] => [`the claim ${inspect(claim)}`, () => signed(HEADER, { ...claims(), ...claim })]),
    ['a payload that is null', () => signed(HEADER, 'null')],
    ['a payload that is no JSON', () => signed(HEADER, 'x')],
    ['an empty value', () => 'svc_session='],
    ['dots alone', () => 'svc_session=..'],
    ['8 KB of header', () => `svc_session=${'a'.repeat(8000)}.b.c`],
  ])('with %s is not valid', async (_name, forge) => {
    expect(await authenticated(forge())).toBe(false);
  });
});

test('sessions that the old key signed stay valid while both keys are set, and no process without their key takes a session', async () => {
  const fresh = `new:${Buffer.alloc(32, 9).toString('base64url')}`;
  await using rotated = await start({ sessionKeys: parseSessionKeys(`${fresh},test:${secret.toString('base64url')}`) });
  expect(await authenticated(cookie, rotated)).toBe(true);
  const newCookie = await signIn(rotated, installId);
  expect(JSON.parse(Buffer.from(newCookie.split('=')[1]!.split('.')[0]!, 'base64url').toString())).toEqual({ alg: 'HS256', kid: 'new' });
  await using other = await start({ sessionKeys: parseSessionKeys(fresh) });
  const seen = [await authenticated(newCookie, rotated), await authenticated(cookie, other), await authenticated(newCookie)];
  expect(seen).toEqual([true, false, false]);
});
