import { beforeEach, describe, expect, test } from 'vitest';
import { hash } from 'node:crypto';
import { readSettings } from '../../../src/config.ts';
import { PushTokens } from '../../../src/stores/google/push-tokens.ts';
import { Providers } from '../../../src/stores/openid/providers.ts';
import { providerProblems, providersOf } from '../../../src/stores/openid/provider-table.ts';
import { testConfig } from '../../environment.ts';
import { forFile } from '../../harness.ts';
import { CLIENT_ID, ecKey, Issuer, jwkOf, PUSH_AUDIENCE, PUSH_EMAIL, refusal, rsaKey, signed, type SigningKey } from '../google/issuer.ts';

const HOUR = 3600;
const SUBJECT = '110169484474386276334';

const [key, second, stranger, short] = [rsaKey('first'), rsaKey('second'), rsaKey('first'), rsaKey('short', 1024)];
const issuer = await forFile(Issuer.start([key, second, short]));
const SETTINGS = {
  STORE: 'google',
  GOOGLE_CLIENT_IDS: `${CLIENT_ID},other-${CLIENT_ID}`,
  APPLE_CLIENT_IDS: 'com.example.game',
  OPENID_PROVIDERS: `acme=${issuer.url}=client-1,client-2`,
};
/** The providers of the settings. The keys of Google and Apple are those of the fake issuer. */
function providersWith(settings: Record<string, string> = SETTINGS, of = issuer): Providers {
  const rows = providersOf(testConfig(settings)).map((row) => ({ ...row, keysUrl: row.keysUrl && of.settings.jwksUrl }));
  return new Providers({ ...of.parts, rows, allowsLoopbackHttp: true });
}
let providers: Providers;
beforeEach(() => {
  issuer.logLines.length = 0;
  providers = providersWith();
});
const verify = (text: string, nonce?: string) => providers.verify(text, 'token', nonce);

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
  ['for a list of one of our clients', () => ({ aud: [CLIENT_ID], azp: undefined })],
  ['for several audiences, issued to a client of ours', () => ({ aud: ['other', CLIENT_ID], azp: `other-${CLIENT_ID}` })],
])('verify takes the subject and the time of a token %s', async (_, more, headerMore = {}) => {
  const given = claims(more()) as { sub: string; iat: number };
  const { privateKey } = 'kid' in headerMore ? second : key;
  const expected = { provider: { name: 'google', key: 'google' }, subject: given.sub, issuedAt: given.iat * 1000 };
  expect(await verify(signed(header(headerMore), given, privateKey))).toMatchObject(expected);
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
  ['several audiences, issued to a client of others', () => token({ aud: [CLIENT_ID, 'other'], azp: 'other' })],
  ['several audiences, and no azp', () => token({ aud: [CLIENT_ID, 'other'], azp: undefined })],
  ['several audiences, none of them ours', () => token({ aud: ['another', 'other'] })],
  ['aud an empty list', () => token({ aud: [] })],
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

describe('verify refuses with bad_token', () => {
  test.each(forged)('a forged or stale token: %s', async (_, make) => {
    const text = make();
    expect(await refusal(verify(text))).toEqual(badToken);
    // The log names the fault at level debug (20) and contains neither the token nor its claims.
    expect(issuer.logLines).toHaveLength(1);
    expect(JSON.parse(issuer.logLines[0]!)).toMatchObject({ level: 20, msg: 'a token of an issuer does not verify' });
    for (const part of text.split('.').filter((piece) => piece.length > 12)) expect(issuer.logLines[0]).not.toContain(part);
    expect(issuer.logLines[0]).not.toContain(SUBJECT);
  });

  test('a token with any changed character, unused bits of the last one included, and any truncated token', async () => {
    const text = token();
    expect(await verify(text)).toMatchObject({ subject: SUBJECT });
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (let index = 0; index < text.length; index++) {
      expect(await refusal(verify(text.slice(0, index)))).toEqual(badToken);
      if (text[index] === '.') continue;
      const other = letters[(letters.indexOf(text[index]!) + 1) % 64]!;
      expect(await refusal(verify(text.slice(0, index) + other + text.slice(index + 1)))).toEqual(badToken);
    }
    for (const last of letters.replace(text.at(-1)!, '')) {
      expect(await refusal(verify(text.slice(0, -1) + last))).toEqual(badToken);
    }
  });
});

test('without the settings of sign-in or of notifications, store_unconfigured answers, and no keys are fetched', async () => {
  await using bare = await Issuer.start([key]);
  bare.settings = { ...bare.settings, notifications: undefined };
  const none = providersWith({ STORE: 'google' }, bare);
  for (const call of [none.verify(token(), 'token'), new PushTokens(bare.parts).verifyPush(token())])
    expect(await refusal(call)).toMatchObject({ code: 'store_unconfigured', status: 503 });
  expect(bare.fetches).toBe(0);
});

describe('verifyPush', () => {
  const pushTokens = new PushTokens(issuer.parts);
  const push = (more: object = {}, headerMore: object = {}): string =>
    token({ aud: PUSH_AUDIENCE, azp: '113774264463038321964', sub: '113774264463038321964', email: PUSH_EMAIL, ...more }, headerMore);

  test('accepts the token of the configured push subscription, which is no sign-in token', async () => {
    expect(await pushTokens.verifyPush(push())).toBe(undefined);
    expect(await refusal(verify(push()))).toEqual(badToken);
  });

  test.each<[name: string, more: object]>([
    ['of another service account', { email: 'push@other.iam.gserviceaccount.com' }],
    ['of an address in capitals', { email: PUSH_EMAIL.toUpperCase() }],
    ['of an unverified address', { email_verified: false }],
    ['with email_verified as text', { email_verified: 'true' }],
    ['without an address', { email: undefined }],
  ])('refuses with forbidden a token %s', async (_, more) => {
    expect(await refusal(pushTokens.verifyPush(push(more)))).toEqual({ code: 'forbidden', status: 403, message: 'This is not allowed.' });
  });

  test('refuses with bad_token a token for a client of ours, and nothing', async () => {
    for (const text of [push({ aud: CLIENT_ID }), ''])
      expect(await refusal(pushTokens.verifyPush(text))).toEqual({ ...badToken, field: 'authorization' });
  });
});

describe('an OpenID provider of the settings', () => {
  const acme = (more: object = {}): object => ({
    iss: issuer.url,
    aud: 'client-2',
    sub: 'ada',
    iat: seconds(),
    exp: seconds() + 36_000,
    ...more,
  });
  const curve = ecKey('curve');
  beforeEach(() => (issuer.keys = [key, second, short, curve].map(jwkOf)));

  test.each<[name: string, make: () => string]>([
    ['RS256', () => signed(header(), acme(), key.privateKey)],
    ['ES256', () => signed(header({ alg: 'ES256', kid: 'curve' }), acme({ iat: seconds() - 7 * HOUR }), curve.privateKey)],
  ])('signs by %s, and is found by the issuer of the token', async (_, make) => {
    expect(await verify(make())).toMatchObject({ provider: { name: 'acme', key: issuer.url }, subject: 'ada' });
  });

  test.each<[name: string, make: () => string]>([
    ['for a client of another provider', () => signed(header(), acme({ aud: CLIENT_ID }), key.privateKey)],
    ['of its issuer with a slash behind it', () => signed(header(), acme({ iss: `${issuer.url}/` }), key.privateKey)],
    ['with an algorithm that is not in the table', () => signed(header({ alg: 'PS256' }), acme(), key.privateKey)],
    ['by Google, with ES256', () => signed(header({ alg: 'ES256', kid: 'curve' }), claims(), curve.privateKey)],
    ['without an iss', () => signed(header(), acme({ iss: undefined }), key.privateKey)],
    ['with a list of issuers', () => signed(header(), acme({ iss: [issuer.url] }), key.privateKey)],
  ])('refuses a token %s', async (_, make) => {
    expect(await refusal(verify(make()))).toEqual(badToken);
  });

  test('that is away refuses its own tokens, and no others', async () => {
    issuer.discovery = { issuer: 'https://other.example' };
    expect(await refusal(verify(signed(header(), acme(), key.privateKey)))).toMatchObject({ code: 'app_store_unavailable', status: 503 });
    expect(await verify(token())).toMatchObject({ subject: SUBJECT });
    issuer.discovery = undefined;
  });
});

describe('the nonce', () => {
  const apple = (nonce?: unknown): string => token({ iss: 'https://appleid.apple.com', aud: 'com.example.game', nonce });
  const digest = hash('sha256', 'n-1', 'hex');

  test.each<[fits: boolean, name: string, make: () => string, nonce: string | undefined]>([
    [true, 'is not looked at unless one is given', () => token({ nonce: 'any' }), undefined],
    [true, 'of Google is the given one', () => token({ nonce: 'n-1' }), 'n-1'],
    [true, 'of Apple is the given one', () => apple('n-1'), 'n-1'],
    [true, 'of Apple is the SHA-256 of the given one', () => apple(digest), 'n-1'],
    [false, 'of Google is no SHA-256', () => token({ nonce: digest }), 'n-1'],
    [false, 'of Apple is in small letters', () => apple(digest.toUpperCase()), 'n-1'],
    [false, 'is another one', () => token({ nonce: 'n-2' }), 'n-1'],
    [false, 'is missing', () => token(), 'n-1'],
    [false, 'is a list', () => token({ nonce: ['n-1'] }), 'n-1'],
  ])('fits %s: it %s', async (fits, _, make, nonce) => {
    const call = verify(make(), nonce);
    if (fits) expect(await call).toMatchObject({ subject: SUBJECT });
    else expect(await refusal(call)).toEqual(badToken);
  });
});

test.each<[rows: string, problem: string | undefined, settings?: Record<string, string>]>([
  ['acme=https://id.acme.example=client', undefined],
  ['acme=https://id.acme.example/tenant/=a, b;  other=https://other.example=c ;', undefined],
  ['acme=http://127.0.0.1:8080=client', undefined],
  ['acme=http://id.acme.example=client', 'that is not an https URL'],
  ['acme=http://127.0.0.1:8080=client', 'that is not an https URL', { NODE_ENV: 'production' }],
  ['acme=https://id.acme.example?tenant=a=client', 'OPENID_PROVIDERS'],
  ['acme=https://id.acme.example#a=client', 'that is not an https URL'],
  ['acme=https://a:b@id.acme.example=client', 'that is not an https URL'],
  ['google=https://id.acme.example=client', 'this name is taken'],
  ['apple=https://id.acme.example=client', 'this name is taken'],
  ['mine=https://accounts.google.com=client', 'settings of its own'],
  ['mine=https://ACCOUNTS.google.com:443/=client', 'settings of its own'],
  ['mine=https://appleid.apple.com=client', 'settings of its own'],
  ['a=https://id.acme.example=c;b=https://id.acme.example/=c', 'two providers with the issuer'],
  ['a=https://id.acme.example=c;a=https://other.example=c', 'two providers a'],
  ['acme=https://id.acme.example=', 'must be a list such as'],
  ['acme=https://id.acme.example', 'must be a list such as'],
  ['Acme=https://id.acme.example=client', 'must be a list such as'],
  ['=https://id.acme.example=client', 'must be a list such as'],
])('OPENID_PROVIDERS %s', (rows, problem, settings = {}) => {
  const { config, problems } = readSettings({ OPENID_PROVIDERS: rows, ...settings }, providerProblems);
  const found = problems.filter((line) => line.startsWith('OPENID_PROVIDERS '));
  if (problem === undefined) expect([found, config.OPENID_PROVIDERS.length > 0]).toEqual([[], true]);
  else expect(found).toEqual([expect.stringContaining(problem)]);
});
