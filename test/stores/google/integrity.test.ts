import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { refuse } from '../../../src/errors.ts';
import type { ApiAnswer, ApiRequest, GoogleApi } from '../../../src/stores/google/google-api.ts';
import { failedChecks, IntegrityTokens } from '../../../src/stores/google/integrity.ts';
import {
  attested,
  integrityKeys,
  PACKAGE_NAME,
  sealed,
  verdict,
  verdictKey,
  verificationKey,
  type Verdict,
} from '../../features/store/attestation.ts';
import { sleep } from '../../harness.ts';
import { Issuer, jwkOf, refusal, rsaKey, signed } from '../../features/store/issuer.ts';

const NOW = Date.UTC(2031, 4, 1, 12);
const nonce = randomBytes(32).toString('base64url');
const genuine = verdict(nonce, NOW);
const badToken = { code: 'bad_token', status: 401, message: 'The token does not verify.', field: 'integrityToken' };

let issuer: Issuer;
let asked: ApiRequest[];
let answer: (request: ApiRequest) => Promise<ApiAnswer>;
let tokens: IntegrityTokens;

beforeAll(async () => void (issuer = await Issuer.start([])));
afterAll(() => issuer[Symbol.asyncDispose]());
beforeEach(() => {
  issuer.logLines.length = 0;
  asked = [];
  const api = { call: (request: ApiRequest) => (asked.push(request), answer(request)) };
  tokens = new IntegrityTokens(issuer.parts, api as unknown as GoogleApi);
});

describe('IntegrityTokens with keys', () => {
  beforeEach(() => {
    answer = () => Promise.reject(new Error('nobody is to be asked'));
    issuer.settings = { ...issuer.settings, packageNames: [PACKAGE_NAME], integrityKeys: () => Promise.resolve(integrityKeys) };
  });

  test('opens a token of the store and returns its verdict', async () => {
    expect(await tokens.open(await attested(genuine))).toEqual({
      requestDetails: { requestPackageName: PACKAGE_NAME, nonce, timestampMillis: NOW },
      appIntegrity: { appRecognitionVerdict: 'PLAY_RECOGNIZED', packageName: PACKAGE_NAME },
      deviceIntegrity: { deviceRecognitionVerdict: ['MEETS_DEVICE_INTEGRITY'] },
      accountDetails: { appLicensingVerdict: 'LICENSED' },
    });
    expect(asked).toEqual([]);
  });

  test('returns empty parts for a token without fields', async () => {
    expect(await tokens.open(await attested({}))).toEqual({
      requestDetails: {},
      appIntegrity: {},
      deviceIntegrity: { deviceRecognitionVerdict: [] },
      accountDetails: {},
    });
  });

  const jws = (payload: object | string = genuine, header: object = {}): string => signed({ alg: 'ES256', ...header }, payload, verdictKey);
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const rsa = rsaKey('rsa');
  const strangersJwk = stranger.publicKey.export({ format: 'jwk' });
  const unsigned = (): string => `${jws(genuine, { alg: 'none' }).split('.').slice(0, 2).join('.')}.`;
  const der = Buffer.from(integrityKeys.verification).toString('latin1');

  test.each<[name: string, make: () => string | Promise<string>]>([
    // Faults of the JWE.
    ['dir: the shared key itself encrypts', () => sealed(jws(), { alg: 'dir' })],
    ['A256GCMKW', () => sealed(jws(), { alg: 'A256GCMKW' })],
    ['A128KW', () => sealed(jws(), { alg: 'A128KW' }, randomBytes(16))],
    ['A256KW by another key', () => sealed(jws(), {}, randomBytes(32))],
    ['PBES2', () => sealed(jws(), { alg: 'PBES2-HS256+A128KW' }, Buffer.from('password'))],
    ['ECDH-ES to the verification key, which is no secret', () => sealed(jws(), { alg: 'ECDH-ES' }, verificationKey)],
    ['RSA-OAEP', () => sealed(jws(), { alg: 'RSA-OAEP-256' }, rsa.publicKey)],
    ['A256CBC-HS512', () => sealed(jws(), { enc: 'A256CBC-HS512' })],
    ['A128CBC-HS256', () => sealed(jws(), { enc: 'A128CBC-HS256' })],
    ['A128GCM', () => sealed(jws(), { enc: 'A128GCM' })],
    ['A192GCM', () => sealed(jws(), { enc: 'A192GCM' })],
    ['compressed', () => sealed(jws(), { zip: 'DEF' })],
    ['a bomb: 5 MB in 7 KB', async () => sealed(Buffer.alloc(5 * 1024 * 1024, 'A'), { zip: 'DEF' })],
    ['compressed by an unknown algorithm', async () => headed(await sealed(jws()), { zip: 'GZIP' })],
    ['an unknown crit', async () => headed(await sealed(jws()), { crit: ['exp'], exp: 1 })],
    ['a header changed behind its encryption', async () => headed(await sealed(jws()), { typ: 'JWT' })],
    ['alg none', async () => headed(await sealed(jws()), { alg: 'none' })],
    ['without alg', async () => headed(await sealed(jws()), { alg: undefined })],
    ['without enc', async () => headed(await sealed(jws()), { enc: undefined })],
    ['no JWE around the JWS', () => jws()],
    ['a JWE within a JWE', async () => sealed(await sealed(jws()))],
    ['four parts', async () => (await sealed(jws())).split('.').slice(0, 4).join('.')],
    ['six parts', async () => `${await sealed(jws())}.e`],
    ['padded', async () => `${await sealed(jws())}==`],
    ['longer than any token', () => sealed(jws({ ...genuine, more: 'x'.repeat(8192) }))],
    ['nothing', () => ''],
    ['dots', () => '....'],
    // Faults of the JWS inside.
    ['an unsigned payload', () => sealed(JSON.stringify(genuine))],
    ['alg none', () => sealed(unsigned())],
    ['HS256 with the verification key as its secret', () => sealed(signed({ alg: 'HS256' }, genuine, der))],
    [
      'HS256 with the verification key (PEM) as its secret',
      () => sealed(signed({ alg: 'HS256' }, genuine, verificationKey.export({ type: 'spki', format: 'pem' }) as string)),
    ],
    [
      'HS256 with the decryption key as its secret',
      () => sealed(signed({ alg: 'HS256' }, genuine, Buffer.from(integrityKeys.decryption).toString('latin1'))),
    ],
    ['signed by a stranger', () => sealed(signed({ alg: 'ES256' }, genuine, stranger.privateKey))],
    [
      'signed by a stranger, whose key is in the header',
      () => sealed(signed({ alg: 'ES256', jwk: strangersJwk }, genuine, stranger.privateKey)),
    ],
    ['signed by a longer curve', () => sealed(signed({ alg: 'ES384' }, genuine, p384.privateKey))],
    ['signed by RSA', () => sealed(signed({ alg: 'RS256', jwk: jwkOf(rsa) }, genuine, rsa.privateKey))],
    ['ES256K named', () => sealed(jws(genuine, { alg: 'ES256K' }))],
    ['an unknown crit', () => sealed(jws(genuine, { crit: ['exp'], exp: 1 }))],
    ['payload of another token', () => sealed(jws().replace(/\.[^.]+\./, `.${jws({ ...genuine, more: 1 }).split('.')[1]}.`))],
    ['signature cut', () => sealed(jws().slice(0, -2))],
    ['signature of nothing but zeros', () => sealed(`${jws().split('.').slice(0, 2).join('.')}.${Buffer.alloc(64).toString('base64url')}`)],
    ['two parts', () => sealed(jws().split('.').slice(0, 2).join('.'))],
    ['random bytes', () => sealed(randomBytes(500))],
    ['empty', () => sealed('')],
    // Faults of the payload.
    ['payload not JSON', () => attested('requestDetails')],
    ['payload empty', () => attested('')],
    ['payload not UTF-8', () => attested(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))],
    ['payload a list', () => attested('[]')],
    ['payload null', () => attested('null')],
    ['payload nested 1500 deep', () => attested('['.repeat(1500) + ']'.repeat(1500))],
    ['requestDetails null', () => attested({ ...genuine, requestDetails: null })],
    ['nonce a number', () => attested({ ...genuine, requestDetails: { ...genuine.requestDetails, nonce: 1 } })],
    ['time a word', () => attested({ ...genuine, requestDetails: { ...genuine.requestDetails, timestampMillis: 'now' } })],
    ['time a list', () => attested({ ...genuine, requestDetails: { ...genuine.requestDetails, timestampMillis: [String(NOW)] } })],
    ['device verdict a text', () => attested({ ...genuine, deviceIntegrity: { deviceRecognitionVerdict: 'MEETS_DEVICE_INTEGRITY' } })],
  ])('refuses with bad_token: %s', async (_, make) => {
    const text = await make();
    expect(await refusal(tokens.open(text))).toEqual(badToken);
    expect(asked).toEqual([]);
    expect(issuer.logLines).toHaveLength(1);
    expect(JSON.parse(issuer.logLines[0]!)).toMatchObject({ level: 20, msg: 'an integrity token does not verify' });
    for (const part of [...text.split('.'), nonce].filter((piece) => piece.length > 12)) expect(issuer.logLines[0]).not.toContain(part);
  });

  test('refuses a token with any changed byte of the inner signature', async () => {
    const [header, payload, signature] = jws().split('.') as [string, string, string];
    const bytes = Buffer.from(signature, 'base64url');
    expect(bytes).toHaveLength(64);
    for (let index = 0; index < bytes.length; index++) {
      const flipped = Buffer.from(bytes);
      flipped[index]! ^= 0x80;
      expect(await refusal(tokens.open(await sealed(`${header}.${payload}.${flipped.toString('base64url')}`)))).toEqual(badToken);
    }
  });

  test('refuses a token with any changed character, unused bits included, and any truncated token', async () => {
    const text = await attested(genuine);
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (let index = 0; index < text.length; index++) {
      expect(await refusal(tokens.open(text.slice(0, index)))).toEqual(badToken);
      if (text[index] === '.') continue;
      const other = letters[(letters.indexOf(text[index]!) + 1) % 64]!;
      expect(await refusal(tokens.open(text.slice(0, index) + other + text.slice(index + 1)))).toEqual(badToken);
    }
    expect(await tokens.open(text)).toMatchObject({ requestDetails: { nonce } });
  });

  test('refuses a token when either key does not match', async () => {
    const text = await attested(genuine);
    const verification = stranger.publicKey.export({ type: 'spki', format: 'der' });
    issuer.settings = { ...issuer.settings, integrityKeys: () => Promise.resolve({ ...integrityKeys, verification }) };
    expect(await refusal(tokens.open(text))).toEqual(badToken);
    issuer.settings = { ...issuer.settings, integrityKeys: () => Promise.resolve({ ...integrityKeys, decryption: randomBytes(32) }) };
    expect(await refusal(tokens.open(text))).toEqual(badToken);
  });

  test('passes on an error of loading the keys', async () => {
    issuer.settings = { ...issuer.settings, integrityKeys: () => Promise.reject(new Error('Connection is closed.')) };
    await expect(tokens.open(await attested(genuine))).rejects.toThrow('Connection is closed.');
  });
});

/** A JWE with a changed header, which no longer matches its authenticated data. */
function headed(jwe: string, more: object): string {
  const [head, ...rest] = jwe.split('.') as [string, ...string[]];
  const header = { ...(JSON.parse(Buffer.from(head, 'base64url').toString()) as object), ...more };
  return [Buffer.from(JSON.stringify(header)).toString('base64url'), ...rest].join('.');
}

describe('IntegrityTokens without keys, by decodeIntegrityToken', () => {
  beforeEach(() => {
    issuer.settings = {
      ...issuer.settings,
      packageNames: ['com.example.other', PACKAGE_NAME],
      integrityUrl: 'https://playintegrity.example',
      integrityKeys: undefined,
    };
  });
  const taken = { status: 200, body: { tokenPayloadExternal: { ...genuine, fresh: 'a field we do not know' } } };

  test('asks the store for each app in turn until one accepts the token', async () => {
    answer = ({ url }) => Promise.resolve(url.includes(PACKAGE_NAME) ? taken : { status: 400, body: { error: { code: 400 } } });
    expect(failedChecks(await tokens.open('opaque-token'), { nonce, packageNames: [PACKAGE_NAME], now: NOW })).toEqual([]);
    expect(asked).toEqual([
      {
        budgetMs: expect.any(Number),
        method: 'POST',
        url: 'https://playintegrity.example/v1/com.example.other:decodeIntegrityToken',
        body: { integrity_token: 'opaque-token' },
      },
      {
        budgetMs: expect.any(Number),
        method: 'POST',
        url: 'https://playintegrity.example/v1/com.example.game:decodeIntegrityToken',
        body: { integrity_token: 'opaque-token' },
      },
    ]);
  });

  test.each([400, 404, 410])('refuses with bad_token when the store answers %i for each app', async (status) => {
    answer = () => Promise.resolve({ status, body: {} });
    expect(await refusal(tokens.open('opaque-token'))).toEqual(badToken);
    expect(asked).toHaveLength(2);
  });

  test.each([
    ['nothing', {}],
    ['a payload that is none', { tokenPayloadExternal: 'yes' }],
    ['a verdict of another kind', { tokenPayloadExternal: { deviceIntegrity: { deviceRecognitionVerdict: 'MEETS_DEVICE_INTEGRITY' } } }],
    ['null', null],
  ])('refuses with app_store_unavailable when the store answers 200 with %s', async (_, body) => {
    answer = () => Promise.resolve({ status: 200, body });
    expect(await refusal(tokens.open('opaque-token'))).toMatchObject({ code: 'app_store_unavailable', status: 503, retryAfterMs: 1000 });
  });

  test('refuses with app_store_unavailable when the store fails', async () => {
    answer = () => Promise.reject(refuse('app_store_unavailable', { retryAfterMs: 500 }));
    expect(await refusal(tokens.open('opaque-token'))).toMatchObject({ code: 'app_store_unavailable', retryAfterMs: 500 });
  });

  test('refuses with app_store_unavailable when the store fails for one app and refuses the other', async () => {
    answer = ({ url }) =>
      url.includes(PACKAGE_NAME)
        ? Promise.reject(refuse('app_store_unavailable', { retryAfterMs: 500 }))
        : Promise.resolve({ status: 400, body: {} });
    expect(await refusal(tokens.open('opaque-token'))).toMatchObject({ code: 'app_store_unavailable', retryAfterMs: 500 });
  });

  test('opens the token for the second app when the store fails for the first', async () => {
    answer = ({ url }) => (url.includes(PACKAGE_NAME) ? Promise.resolve(taken) : Promise.reject(refuse('app_store_unavailable')));
    expect((await tokens.open('opaque-token')).appIntegrity.packageName).toBe(PACKAGE_NAME);
  });

  test('shares one time budget among all apps', async () => {
    const budgets: number[] = [];
    answer = async ({ budgetMs }) => {
      budgets.push(budgetMs!);
      // The call takes 120 ms of the real clock, so the next call's budget has to be shorter by that.
      await sleep(120);
      return { status: 400, body: {} };
    };
    expect(await refusal(tokens.open('opaque-token'))).toEqual(badToken);
    expect(budgets[0]).toBeLessThanOrEqual(8000);
    expect(budgets[1]).toBeLessThanOrEqual(7890);
  });

  test('passes on an unexpected error', async () => {
    answer = () => Promise.reject(new Error('Connection is closed.'));
    await expect(tokens.open('opaque-token')).rejects.toThrow('Connection is closed.');
  });

  test('refuses with store_unconfigured without a service account', async () => {
    answer = () => Promise.reject(refuse('store_unconfigured'));
    expect(await refusal(tokens.open('opaque-token'))).toMatchObject({ code: 'store_unconfigured', status: 503 });
  });
});

test.each<[ready: boolean, name: string, packageNames: string[], keys: boolean, account: boolean]>([
  [true, 'apps and keys', [PACKAGE_NAME], true, false],
  [true, 'apps and a service account', [PACKAGE_NAME], false, true],
  [false, 'apps alone', [PACKAGE_NAME], false, false],
  [false, 'keys and a service account for no app', [], true, true],
])('ready is %s with %s', (ready, _, packageNames, keys, account) => {
  issuer.settings = {
    ...issuer.settings,
    packageNames,
    integrityKeys: keys ? () => Promise.resolve(integrityKeys) : undefined,
    serviceAccount: account ? () => Promise.reject(new Error('not to be asked')) : undefined,
  };
  expect(tokens.ready).toBe(ready);
});

describe('failedChecks of a verdict', () => {
  type Change = (changed: Verdict) => void;
  const day = 86_400_000;

  test.each<[failed: string[], name: string, change: Change]>([
    [[], 'as it should be', () => {}],
    [[], 'its nonce padded', (changed) => (changed.requestDetails.nonce = `${nonce}=`)],
    [[], 'of just 5 minutes ago', (changed) => (changed.requestDetails.timestampMillis = String(NOW - 300_000))],
    [[], 'of a clock one minute ahead', (changed) => (changed.requestDetails.timestampMillis = String(NOW + 60_000))],
    [[], 'its time a number', (changed) => Object.assign(changed.requestDetails, { timestampMillis: NOW })],
    [
      [],
      'of the other app',
      (changed) => (changed.requestDetails.requestPackageName = changed.appIntegrity.packageName = 'com.example.other'),
    ],
    [
      [],
      'of a strong device',
      (changed) =>
        (changed.deviceIntegrity.deviceRecognitionVerdict = ['MEETS_BASIC_INTEGRITY', 'MEETS_DEVICE_INTEGRITY', 'MEETS_STRONG_INTEGRITY']),
    ],
    [['nonce'], 'for another nonce', (changed) => (changed.requestDetails.nonce = randomBytes(32).toString('base64url'))],
    [['nonce'], 'for the nonce in capitals', (changed) => (changed.requestDetails.nonce = nonce.toUpperCase())],
    [['nonce'], 'for more than the nonce', (changed) => (changed.requestDetails.nonce = `${nonce}A`)],
    [['nonce'], 'for less than the nonce', (changed) => (changed.requestDetails.nonce = nonce.slice(0, -1))],
    [['nonce'], 'for an empty nonce', (changed) => (changed.requestDetails.nonce = '')],
    [
      ['nonce'],
      'for a hash: a standard request',
      (changed) => Object.assign(changed.requestDetails, { nonce: undefined, requestHash: nonce }),
    ],
    [['package'], 'asked for by another app', (changed) => (changed.requestDetails.requestPackageName = 'com.example.evil')],
    [['package'], 'of another app', (changed) => (changed.appIntegrity.packageName = 'com.example.evil')],
    [['package'], 'of our other app than it was asked for', (changed) => (changed.appIntegrity.packageName = 'com.example.other')],
    [['package'], 'without the app', (changed) => Object.assign(changed.appIntegrity, { packageName: undefined })],
    [['package'], 'without the asking app', (changed) => Object.assign(changed.requestDetails, { requestPackageName: undefined })],
    [['package'], 'of an app with a name around ours', (changed) => (changed.appIntegrity.packageName = `${PACKAGE_NAME}.evil`)],
    [['age'], 'older than 5 minutes', (changed) => (changed.requestDetails.timestampMillis = String(NOW - 300_001))],
    [['age'], 'of tomorrow', (changed) => (changed.requestDetails.timestampMillis = String(NOW + day))],
    [['age'], 'more than a minute ahead', (changed) => (changed.requestDetails.timestampMillis = String(NOW + 60_001))],
    [['age'], 'in seconds', (changed) => (changed.requestDetails.timestampMillis = String(NOW / 1000))],
    [['age'], 'without a time', (changed) => Object.assign(changed.requestDetails, { timestampMillis: undefined })],
    [['app_recognition'], 'of an unrecognised version', (changed) => (changed.appIntegrity.appRecognitionVerdict = 'UNRECOGNIZED_VERSION')],
    [
      ['package', 'app_recognition', 'licensing'],
      'not evaluated',
      (changed) => {
        Object.assign(changed.appIntegrity, { appRecognitionVerdict: 'UNEVALUATED', packageName: undefined });
        changed.accountDetails.appLicensingVerdict = 'UNEVALUATED';
      },
    ],
    [['app_recognition'], 'of an unknown value', (changed) => (changed.appIntegrity.appRecognitionVerdict = 'PLAY_RECOGNIZED_BETA')],
    [
      ['device_integrity'],
      'of basic integrity only',
      (changed) => (changed.deviceIntegrity.deviceRecognitionVerdict = ['MEETS_BASIC_INTEGRITY']),
    ],
    [
      ['device_integrity'],
      'of a virtual device',
      (changed) => (changed.deviceIntegrity.deviceRecognitionVerdict = ['MEETS_VIRTUAL_INTEGRITY']),
    ],
    [['device_integrity'], 'of no device', (changed) => (changed.deviceIntegrity.deviceRecognitionVerdict = [])],
    [['device_integrity'], 'without a device', (changed) => Object.assign(changed, { deviceIntegrity: {} })],
    [['licensing'], 'of an unlicensed app', (changed) => (changed.accountDetails.appLicensingVerdict = 'UNLICENSED')],
    [['licensing'], 'without a licensing verdict', (changed) => Object.assign(changed, { accountDetails: {} })],
    [
      ['nonce', 'package', 'age', 'app_recognition', 'device_integrity', 'licensing'],
      'without any field',
      (changed) => {
        for (const name of Object.keys(changed)) Reflect.deleteProperty(changed, name);
      },
    ],
  ])('are %j: %s', async (failed, _, change) => {
    issuer.settings = { ...issuer.settings, packageNames: [PACKAGE_NAME], integrityKeys: () => Promise.resolve(integrityKeys) };
    const changed = structuredClone(genuine);
    change(changed);
    const payload = await tokens.open(await attested(changed));
    expect(failedChecks(payload, { nonce, packageNames: ['com.example.other', PACKAGE_NAME], now: NOW })).toEqual(failed);
  });
});
