import { beforeEach, describe, expect, test } from 'vitest';
import { IdTokens } from '../../../src/stores/google/id-tokens.ts';
import { forFile } from '../../harness.ts';
import { CLIENT_ID, Issuer, jwkOf, PUSH_AUDIENCE, PUSH_EMAIL, refusal, rsaKey, signed, type SigningKey } from './issuer.ts';

const HOUR = 3600;
const SUBJECT = '110169484474386276334';

const [key, second, stranger, short] = [rsaKey('first'), rsaKey('second'), rsaKey('first'), rsaKey('short', 1024)];
const issuer = await forFile(Issuer.start([key, second, short]));
let tokens: IdTokens;
beforeEach(() => {
  issuer.logLines.length = 0;
  tokens = new IdTokens(issuer.parts);
});

const seconds = (): number => Math.floor(issuer.now() / 1000);
const header = (more: object = {}): object => ({ alg: 'RS256', kid: 'first', typ: 'JWT', ...more });
const claims = (more: object = {}): object => ({
  iss: 'https://accounts.google.com',
  azp: CLIENT_ID,
  aud: CLIENT_ID,
  sub: SUBJECT,
  email: 'player@example.com',
  email_verified: true,
  iat: seconds(),
  exp: seconds() + HOUR,
  ...more,
});
const token = (more: object = {}, headerMore: object = {}): string => signed(header(headerMore), claims(more), key.privateKey);

const badToken = { code: 'bad_token', status: 401, message: 'The token does not verify.', field: 'token' };

test.each<[name: string, more: () => object, headerMore?: object]>([
  ['with the other issuer name', () => ({ iss: 'accounts.google.com' })],
  ['for another of our clients', () => ({ aud: `other-${CLIENT_ID}` })],
  ['without typ', () => ({}), { typ: undefined }],
  ['that expired 40 s ago', () => ({ iat: seconds() - HOUR - 40, exp: seconds() - 40 })],
  ['issued 58 s in the future', () => ({ iat: seconds() + 58, nbf: seconds() + 58 })],
  ['with nbf five minutes ago, as One Tap issues them', () => ({ nbf: seconds() - 300 })],
  ['without an address', () => ({ email: undefined, email_verified: undefined })],
  ['with the longest subject there is', () => ({ sub: 'x'.repeat(255) })],
  ['with jku and x5u in the header, which are ignored', () => ({}), { jku: 'http://127.0.0.1:1/', x5u: 'http://127.0.0.1:1/' }],
  ['of the second key of the store', () => ({}), { kid: 'second' }],
])('verifySignIn takes the subject and the time of a token %s', async (_, more, headerMore = {}) => {
  const given = claims(more()) as { sub: string; iat: number };
  const { privateKey } = 'kid' in headerMore ? second : key;
  const expected = { subject: given.sub, issuedAt: given.iat * 1000 };
  expect(await tokens.verifySignIn(signed(header(headerMore), given, privateKey))).toEqual(expected);
});

const publicPem = (signing: SigningKey): string => signing.publicKey.export({ type: 'spki', format: 'pem' }) as string;

const forged: [name: string, make: () => string][] = [
  ['unsigned: alg none', () => `${token({}, { alg: 'none' }).split('.').slice(0, 2).join('.')}.`],
  ['HS256 with the public key (PEM) as its secret', () => signed(header({ alg: 'HS256' }), claims(), publicPem(key))],
  ['signed by a stranger under our kid', () => signed(header(), claims(), stranger.privateKey)],
  [
    'signed by the stranger in the header, no kid',
    () => signed(header({ jwk: jwkOf(stranger), kid: undefined }), claims(), stranger.privateKey),
  ],
  ['signed by the first key under the kid of the second', () => token({}, { kid: 'second' })],
  ['signed by a 1024-bit key of the store', () => signed(header({ kid: 'short' }), claims(), short.privateKey)],
  ['kid unknown', () => token({}, { kid: 'third' })],
  ['kid missing', () => token({}, { kid: undefined })],
  ['an unknown crit', () => token({}, { crit: ['exp'], exp: 1 })],
  ['typ at+jwt', () => token({}, { typ: 'at+jwt' })],
  ['another iss', () => token({ iss: 'https://accounts.example.com' })],
  ['aud of another app', () => token({ aud: 'other.apps.googleusercontent.com' })],
  ['aud a list of ours and another', () => token({ aud: [CLIENT_ID, 'other.apps.googleusercontent.com'] })],
  ['aud a list of ours alone', () => token({ aud: [CLIENT_ID] })],
  ['aud of the push subscription', () => token({ aud: PUSH_AUDIENCE })],
  ['expired a minute ago', () => token({ exp: seconds() - 61 })],
  ['exp missing', () => token({ exp: undefined })],
  ['good for a year, and two hours old', () => token({ iat: seconds() - 2 * HOUR, exp: seconds() + 8760 * HOUR })],
  ['iat missing', () => token({ iat: undefined })],
  ['iat in the future', () => token({ iat: seconds() + 120, exp: seconds() + HOUR })],
  ['not valid yet', () => token({ nbf: seconds() + 120 })],
  ['sub a number', () => token({ sub: 110169484474386 })],
  ['sub too long', () => token({ sub: 'x'.repeat(256) })],
  ['sub with a blank', () => token({ sub: 'a b' })],
  ['sub beyond ASCII', () => token({ sub: 'spieler-ä' })],
  ['payload nested 2000 deep', () => signed(header(), '['.repeat(2000) + ']'.repeat(2000), key.privateKey)],
  ['four parts', () => `${token()}.`],
  ['signature padded', () => `${token()}==`],
  ['longer than any token', () => token({ picture: 'x'.repeat(8192) })],
  ['nothing', () => ''],
];

describe('verifySignIn refuses with bad_token', () => {
  test.each(forged)('a forged or stale token: %s', async (_, make) => {
    const text = make();
    expect(await refusal(tokens.verifySignIn(text))).toEqual(badToken);
    // The log names the fault at level debug (20) and contains neither the token nor its claims.
    expect(issuer.logLines).toHaveLength(1);
    expect(JSON.parse(issuer.logLines[0]!)).toMatchObject({ level: 20, msg: 'an ID token does not verify' });
    for (const part of text.split('.').filter((piece) => piece.length > 12)) expect(issuer.logLines[0]).not.toContain(part);
    expect(issuer.logLines[0]).not.toContain(SUBJECT);
  });

  test('a token with any changed character, unused bits of the last one included, and any truncated token', async () => {
    const text = token();
    expect(await tokens.verifySignIn(text)).toMatchObject({ subject: SUBJECT });
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (let index = 0; index < text.length; index++) {
      expect(await refusal(tokens.verifySignIn(text.slice(0, index)))).toEqual(badToken);
      if (text[index] === '.') continue;
      const other = letters[(letters.indexOf(text[index]!) + 1) % 64]!;
      expect(await refusal(tokens.verifySignIn(text.slice(0, index) + other + text.slice(index + 1)))).toEqual(badToken);
    }
    for (const last of letters.replace(text.at(-1)!, '')) {
      expect(await refusal(tokens.verifySignIn(text.slice(0, -1) + last))).toEqual(badToken);
    }
  });
});

test('without the settings of sign-in or of notifications, store_unconfigured answers, and no keys are fetched', async () => {
  await using bare = await Issuer.start([key]);
  bare.settings = { ...bare.settings, clientIds: [], notifications: undefined };
  const without = new IdTokens(bare.parts);
  for (const call of [without.verifySignIn(token()), without.verifyPush(token())])
    expect(await refusal(call)).toMatchObject({ code: 'store_unconfigured', status: 503 });
  expect(bare.fetches).toBe(0);
});

describe('verifyPush', () => {
  const push = (more: object = {}, headerMore: object = {}): string =>
    token({ aud: PUSH_AUDIENCE, azp: '113774264463038321964', sub: '113774264463038321964', email: PUSH_EMAIL, ...more }, headerMore);

  test('accepts the token of the configured push subscription, which is no sign-in token', async () => {
    expect(await tokens.verifyPush(push())).toBe(undefined);
    expect(await refusal(tokens.verifySignIn(push()))).toEqual(badToken);
  });

  test.each<[name: string, more: object]>([
    ['of another service account', { email: 'push@other.iam.gserviceaccount.com' }],
    ['of an address in capitals', { email: PUSH_EMAIL.toUpperCase() }],
    ['of an unverified address', { email_verified: false }],
    ['with email_verified as text', { email_verified: 'true' }],
    ['without an address', { email: undefined }],
  ])('refuses with forbidden a token %s', async (_, more) => {
    expect(await refusal(tokens.verifyPush(push(more)))).toEqual({ code: 'forbidden', status: 403, message: 'This is not allowed.' });
  });

  test('refuses with bad_token a token for a client of ours, and nothing', async () => {
    for (const text of [push({ aud: CLIENT_ID }), ''])
      expect(await refusal(tokens.verifyPush(text))).toEqual({ ...badToken, field: 'authorization' });
  });
});
