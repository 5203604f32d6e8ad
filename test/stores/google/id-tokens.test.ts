import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { IdTokens } from '../../../src/stores/google/id-tokens.ts';
import { start } from '../../harness.ts';
import {
  CLIENT_ID,
  Issuer,
  jwkOf,
  PUSH_AUDIENCE,
  PUSH_EMAIL,
  refusal,
  rsaKey,
  signed,
  type SigningKey,
} from '../../features/store/issuer.ts';

const HOUR = 3600;

let key: SigningKey;
let second: SigningKey;
let stranger: SigningKey;
let issuer: Issuer;
let tokens: IdTokens;

beforeAll(async () => {
  [key, second, stranger] = [rsaKey('first'), rsaKey('second'), rsaKey('first')];
  issuer = await Issuer.start([key, second]);
});
afterAll(() => issuer[Symbol.asyncDispose]());
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
  sub: '110169484474386276334',
  email: 'player@example.com',
  email_verified: true,
  iat: seconds(),
  exp: seconds() + HOUR,
  ...more,
});
const token = (more: object = {}, headerMore: object = {}): string => signed(header(headerMore), claims(more), key.privateKey);

const badToken = { code: 'bad_token', status: 401, message: 'The token does not verify.', field: 'token' };

describe('verifySignIn', () => {
  test('returns the subject of a valid token, and when the store issued it', async () => {
    const iat = seconds() - 17;
    expect(await tokens.verifySignIn(token({ iat }))).toEqual({ subject: '110169484474386276334', issuedAt: iat * 1000 });
  });

  test.each<[name: string, more: () => object, headerMore?: object]>([
    ['with the other issuer name', () => ({ iss: 'accounts.google.com' })],
    ['for another of our clients', () => ({ aud: `other-${CLIENT_ID}` })],
    ['without typ', () => ({}), { typ: undefined }],
    ['that expired 58 s ago', () => ({ iat: seconds() - HOUR - 58, exp: seconds() - 58 })],
    ['issued 58 s in the future', () => ({ iat: seconds() + 58, nbf: seconds() + 58 })],
    ['with nbf five minutes ago, as One Tap issues them', () => ({ nbf: seconds() - 300 })],
    ['without an address', () => ({ email: undefined, email_verified: undefined })],
    ['with the longest subject there is', () => ({ sub: 'x'.repeat(255) })],
    ['with jku and x5u in the header, which are ignored', () => ({}), { jku: 'http://127.0.0.1:1/', x5u: 'http://127.0.0.1:1/' }],
  ])('accepts a token %s', async (_, more, headerMore = {}) => {
    const { sub } = claims(more()) as { sub: string };
    expect(await tokens.verifySignIn(token(more(), headerMore))).toMatchObject({ subject: sub });
  });

  test('accepts a token signed with the second key of the store', async () => {
    const bySecond = signed(header({ kid: 'second' }), claims(), second.privateKey);
    expect(await tokens.verifySignIn(bySecond)).toMatchObject({ subject: '110169484474386276334' });
  });
});

const publicPem = (signing: SigningKey): string => signing.publicKey.export({ type: 'spki', format: 'pem' }) as string;

/** Claims as JSON text, for duplicate names and numbers that JSON.stringify cannot write. */
const withText = (more: string): string => `${JSON.stringify(claims()).slice(0, -1)},${more}}`;

const forged: [name: string, make: () => string][] = [
  [
    'unsigned: alg none',
    () =>
      `${signed(header({ alg: 'none' }), claims(), key.privateKey)
        .split('.')
        .slice(0, 2)
        .join('.')}.`,
  ],
  ['unsigned: alg None, with a signature', () => signed(header({ alg: 'None' }), claims(), key.privateKey)],
  ['without alg', () => signed(header({ alg: undefined }), claims(), key.privateKey)],
  ['alg not a text', () => signed(header({ alg: ['RS256'] }), claims(), key.privateKey)],
  ['HS256 with the public key (PEM) as its secret', () => signed(header({ alg: 'HS256' }), claims(), publicPem(key))],
  ['HS256 with the public key (PEM, trimmed) as its secret', () => signed(header({ alg: 'HS256' }), claims(), publicPem(key).trim())],
  ['HS256 with the modulus as its secret', () => signed(header({ alg: 'HS256' }), claims(), (jwkOf(key) as { n: string }).n)],
  ['RS512 named, signed as RS256', () => signed(header({ alg: 'RS512' }), claims(), key.privateKey)],
  ['PS256 named, signed as RS256', () => signed(header({ alg: 'PS256' }), claims(), key.privateKey)],
  ['signed by a stranger under our kid', () => signed(header(), claims(), stranger.privateKey)],
  ['signed by a stranger, whose key is in the header', () => signed(header({ jwk: jwkOf(stranger) }), claims(), stranger.privateKey)],
  [
    'signed by the stranger in the header, no kid',
    () => signed(header({ jwk: jwkOf(stranger), kid: undefined }), claims(), stranger.privateKey),
  ],
  ['signed by the first key under the kid of the second', () => signed(header({ kid: 'second' }), claims(), key.privateKey)],
  ['kid unknown', () => signed(header({ kid: 'third' }), claims(), key.privateKey)],
  ['kid missing', () => signed(header({ kid: undefined }), claims(), key.privateKey)],
  ['kid empty', () => signed(header({ kid: '' }), claims(), key.privateKey)],
  ['kid not a text', () => signed(header({ kid: 1 }), claims(), key.privateKey)],
  ['kid __proto__', () => signed(header({ kid: '__proto__' }), claims(), key.privateKey)],
  ['an unknown crit', () => signed(header({ crit: ['exp'], exp: 1 }), claims(), key.privateKey)],
  ['crit empty', () => signed(header({ crit: [] }), claims(), key.privateKey)],
  ['payload not encoded (b64)', () => signed(header({ crit: ['b64'], b64: false }), claims(), key.privateKey)],
  ['typ at+jwt', () => token({}, { typ: 'at+jwt' })],
  ['typ logout+jwt', () => token({}, { typ: 'logout+jwt' })],
  ['typ not a text', () => token({}, { typ: ['JWT'] })],
  ['another iss', () => token({ iss: 'https://accounts.example.com' })],
  ['iss with a trailing slash', () => token({ iss: 'https://accounts.google.com/' })],
  ['iss over http', () => token({ iss: 'http://accounts.google.com' })],
  ['iss a list', () => token({ iss: ['https://accounts.google.com'] })],
  ['iss missing', () => token({ iss: undefined })],
  ['aud of another app', () => token({ aud: 'other.apps.googleusercontent.com' })],
  ['aud of another app, azp ours', () => token({ aud: 'other.apps.googleusercontent.com', azp: CLIENT_ID })],
  ['aud a list of ours and another', () => token({ aud: [CLIENT_ID, 'other.apps.googleusercontent.com'] })],
  ['aud a list of ours alone', () => token({ aud: [CLIENT_ID] })],
  ['aud an empty list', () => token({ aud: [] })],
  ['aud empty', () => token({ aud: '' })],
  ['aud missing', () => token({ aud: undefined })],
  ['aud of the push subscription', () => token({ aud: PUSH_AUDIENCE })],
  ['aud ours first, then another: the last one counts', () => signed(header(), withText('"aud":"other"'), key.privateKey)],
  ['alg none after RS256: the last one counts', () => signed('{"alg":"RS256","kid":"first","alg":"none"}', claims(), key.privateKey)],
  ['expired a minute ago', () => token({ exp: seconds() - 61 })],
  ['exp missing', () => token({ exp: undefined })],
  ['exp a text', () => token({ exp: String(seconds() + HOUR) })],
  ['exp null', () => token({ exp: null })],
  ['exp too large for a double', () => signed(header(), withText('"exp":1e999'), key.privateKey)],
  ['good for a year, and two hours old', () => token({ iat: seconds() - 2 * HOUR, exp: seconds() + 8760 * HOUR })],
  ['iat missing', () => token({ iat: undefined })],
  ['iat a text', () => token({ iat: String(seconds()) })],
  ['iat in the future', () => token({ iat: seconds() + 65, exp: seconds() + HOUR })],
  ['iat in milliseconds', () => token({ iat: seconds() * 1000 })],
  ['not valid yet', () => token({ nbf: seconds() + 65 })],
  ['nbf a text', () => token({ nbf: String(seconds()) })],
  ['sub missing', () => token({ sub: undefined })],
  ['sub empty', () => token({ sub: '' })],
  ['sub a number', () => token({ sub: 110169484474386 })],
  ['sub too long', () => token({ sub: 'x'.repeat(256) })],
  ['sub with a blank', () => token({ sub: 'a b' })],
  ['sub with a line break at its end', () => token({ sub: 'a\n' })],
  ['sub beyond ASCII', () => token({ sub: 'spieler-ä' })],
  ['payload a list', () => signed(header(), '[]', key.privateKey)],
  ['payload null', () => signed(header(), 'null', key.privateKey)],
  ['payload not JSON', () => signed(header(), 'sub=110169484474386276334', key.privateKey)],
  ['payload empty', () => signed(header(), '', key.privateKey)],
  ['payload nested 2000 deep', () => signed(header(), '['.repeat(2000) + ']'.repeat(2000), key.privateKey)],
  ['header not JSON', () => signed('RS256', claims(), key.privateKey)],
  ['header a list', () => signed('[]', claims(), key.privateKey)],
  ['a token within a token', () => signed(header({ cty: 'JWT' }), token(), key.privateKey)],
  ['four parts', () => `${token()}.`],
  ['five parts', () => `${token()}.e.e`],
  ['two parts', () => token().split('.').slice(0, 2).join('.')],
  ['payload of another token', () => swapped(token(), token({ sub: '2' }), 1)],
  ['header of another token', () => swapped(token(), token({}, { kid: 'second' }), 0)],
  ['signature of another token', () => swapped(token(), token({ sub: '2' }), 2)],
  ['signature padded', () => `${token()}==`],
  ['signature in the other base64 alphabet', () => otherAlphabet()],
  ['a blank behind', () => `${token()} `],
  ['a line break within', () => token().replace('.', '.\n')],
  ['longer than any token', () => token({ picture: 'x'.repeat(8192) })],
  [
    'a JWS in JSON',
    () => JSON.stringify({ payload: token().split('.')[1], signature: token().split('.')[2], protected: token().split('.')[0] }),
  ],
  ['nothing', () => ''],
  ['dots', () => '..'],
];

function swapped(text: string, by: string, part: number): string {
  return text
    .split('.')
    .map((own, index) => (index === part ? by.split('.')[part]! : own))
    .join('.');
}

function otherAlphabet(): string {
  for (let sub = 1; ; sub++) {
    const made = token({ sub: String(sub) });
    const [head, payload, signature] = made.split('.') as [string, string, string];
    if (/[-_]/.test(signature)) return `${head}.${payload}.${signature.replaceAll('-', '+').replaceAll('_', '/')}`;
  }
}

describe('verifySignIn refuses with bad_token', () => {
  test.each(forged)('a forged or stale token: %s', async (_, make) => {
    const text = make();
    expect(await refusal(tokens.verifySignIn(text))).toEqual(badToken);
    // The log names the fault at level debug (20) and contains neither the token nor its claims.
    expect(issuer.logLines).toHaveLength(1);
    expect(JSON.parse(issuer.logLines[0]!)).toMatchObject({ level: 20, msg: 'an ID token does not verify' });
    for (const part of text.split('.').filter((piece) => piece.length > 12)) expect(issuer.logLines[0]).not.toContain(part);
    expect(issuer.logLines[0]).not.toContain('110169484474386276334');
  });

  test('a token with any changed byte of its signature', async () => {
    const [head, payload, signature] = token().split('.') as [string, string, string];
    const bytes = Buffer.from(signature, 'base64url');
    expect(bytes).toHaveLength(256);
    for (let index = 0; index < bytes.length; index++) {
      const flipped = Buffer.from(bytes);
      flipped[index]! ^= 1;
      expect(await refusal(tokens.verifySignIn(`${head}.${payload}.${flipped.toString('base64url')}`))).toEqual(badToken);
    }
  });

  test('a token with any changed character, unused bits of the last one included', async () => {
    const text = token();
    expect(await tokens.verifySignIn(text)).toMatchObject({ subject: '110169484474386276334' });
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (let index = 0; index < text.length; index++) {
      if (text[index] === '.') continue;
      const other = letters[(letters.indexOf(text[index]!) + 1) % 64]!;
      expect(await refusal(tokens.verifySignIn(text.slice(0, index) + other + text.slice(index + 1)))).toEqual(badToken);
    }
    for (const last of letters.replace(text.at(-1)!, '')) {
      expect(await refusal(tokens.verifySignIn(text.slice(0, -1) + last))).toEqual(badToken);
    }
  });

  test('any truncated token', async () => {
    const text = token();
    for (let length = 0; length < text.length; length++) {
      expect(await refusal(tokens.verifySignIn(text.slice(0, length)))).toEqual(badToken);
    }
  });

  test('a token signed with a 1024-bit key of the store', async () => {
    const short = rsaKey('short', 1024);
    await using weak = await Issuer.start([key, short]);
    expect(await refusal(new IdTokens(weak.parts).verifySignIn(signed(header({ kid: 'short' }), claims(), short.privateKey)))).toEqual(
      badToken,
    );
  });

  test('a token without a kid, even when the store has only one key', async () => {
    await using single = await Issuer.start([key]);
    expect(await refusal(new IdTokens(single.parts).verifySignIn(token({}, { kid: undefined })))).toEqual(badToken);
    expect(single.fetches).toBe(0);
  });

  test('a token a minute after its expiry', async () => {
    await using moved = await Issuer.start([key]);
    const there = new IdTokens(moved.parts);
    const text = token();
    expect(await there.verifySignIn(text)).toMatchObject({ subject: '110169484474386276334' });
    moved.advance((HOUR + 58) * 1000);
    expect(await there.verifySignIn(text)).toMatchObject({ subject: '110169484474386276334' });
    moved.advance(4000);
    expect(await refusal(there.verifySignIn(text))).toEqual(badToken);
  });
});

test('POST /v1/account/store-provision refuses every forged token with bad_token', async () => {
  await using service = await start({ storeSettings: issuer.settings });
  const visible = forged.map(([name, make]) => [name, make()] as const).filter(([, text]) => /^[\x21-\x7e]{1,8192}$/.test(text));
  expect(visible.length).toBeGreaterThan(60);
  for (const [name, text] of visible) {
    const { status, body, setCookies } = await service.post('/v1/account/store-provision', { token: text });
    expect([name, status, body.error, setCookies]).toEqual([
      name,
      401,
      { code: 'bad_token', message: 'The token does not verify.', field: 'token' },
      [],
    ]);
  }
  const { status, setCookies } = await service.post('/v1/account/store-provision', { token: token() });
  expect([status, setCookies.length]).toEqual([200, 1]);
});

describe('without client ids', () => {
  test('verifySignIn refuses with store_unconfigured and fetches no keys', async () => {
    await using bare = await Issuer.start([key]);
    bare.settings = { ...bare.settings, clientIds: [] };
    expect(await refusal(new IdTokens(bare.parts).verifySignIn(token()))).toMatchObject({ code: 'store_unconfigured', status: 503 });
    expect(bare.fetches).toBe(0);
  });
});

describe('verifyPush', () => {
  const push = (more: object = {}, headerMore: object = {}): string =>
    token({ aud: PUSH_AUDIENCE, azp: '113774264463038321964', sub: '113774264463038321964', email: PUSH_EMAIL, ...more }, headerMore);
  const badBearer = { ...badToken, field: 'authorization' };

  test('accepts the token of the configured push subscription', async () => {
    expect(await tokens.verifyPush(push())).toBe(undefined);
  });

  test.each<[name: string, more: object]>([
    ['of another service account', { email: 'push@other.iam.gserviceaccount.com' }],
    ['of an address in capitals', { email: PUSH_EMAIL.toUpperCase() }],
    ['of an unverified address', { email_verified: false }],
    ['without email_verified', { email_verified: undefined }],
    ['with email_verified as text', { email_verified: 'true' }],
    ['without an address', { email: undefined }],
    ['with a list of addresses', { email: [PUSH_EMAIL] }],
  ])('refuses with forbidden a token %s', async (_, more) => {
    expect(await refusal(tokens.verifyPush(push(more)))).toEqual({ code: 'forbidden', status: 403, message: 'This is not allowed.' });
  });

  test.each<[name: string, make: () => string]>([
    ['for a client of ours', () => push({ aud: CLIENT_ID })],
    ['for another subscription', () => push({ aud: 'https://other.example/push' })],
    ['of another issuer', () => push({ iss: 'https://accounts.example.com' })],
    ['two hours old', () => push({ iat: seconds() - 2 * HOUR, exp: seconds() - HOUR })],
    [
      'signed by a stranger',
      () => signed(header(), JSON.parse(Buffer.from(push().split('.')[1]!, 'base64url').toString()) as object, stranger.privateKey),
    ],
    ['unsigned', () => `${push().split('.').slice(0, 2).join('.')}.`],
    ['nothing', () => ''],
  ])('refuses with bad_token a token: %s', async (_, make) => {
    expect(await refusal(tokens.verifyPush(make()))).toEqual(badBearer);
  });

  test('refuses with store_unconfigured without notification settings and fetches no keys', async () => {
    await using bare = await Issuer.start([key]);
    bare.settings = { ...bare.settings, notifications: undefined };
    expect(await refusal(new IdTokens(bare.parts).verifyPush(push()))).toMatchObject({ code: 'store_unconfigured', status: 503 });
    expect(bare.fetches).toBe(0);
  });

  test('a push token is not accepted as a sign-in token', async () => {
    expect(await refusal(tokens.verifySignIn(push()))).toEqual(badToken);
  });
});
