import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { refuse } from '../../../src/errors.ts';
import type { ApiAnswer, ApiRequest, GoogleApi } from '../../../src/stores/google/google-api.ts';
import { failedChecks, integrityChecks, IntegrityTokens } from '../../../src/stores/google/integrity.ts';
import { attested, integrityKeys, PACKAGE_NAME, sealed, verdict, verdictKey, verificationKey } from './attestation.ts';
import { forFile, sleep } from '../../harness.ts';
import { Issuer, jwkOf, refusal, rsaKey, signed } from './issuer.ts';

const NOW = Date.UTC(2031, 4, 1, 12);
const nonce = randomBytes(32).toString('base64url');
const genuine = verdict(nonce, NOW);
const badToken = { code: 'bad_token', status: 401, message: 'The token does not verify.', field: 'integrityToken' };

let asked: ApiRequest[];
let answer: (request: ApiRequest) => Promise<ApiAnswer>;
let tokens: IntegrityTokens;

const issuer = await forFile(Issuer.start([]));
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

  test('opens a token without fields, which fails all checks', async () => {
    const payload = await tokens.open(await attested({}));
    expect(failedChecks(payload, { nonce, packageNames: [PACKAGE_NAME], now: NOW })).toEqual([...integrityChecks]);
  });

  const jws = (payload: object | string = genuine, header: object = {}): string => signed({ alg: 'ES256', ...header }, payload, verdictKey);
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const rsa = rsaKey('rsa');
  const unsigned = (): string => `${jws(genuine, { alg: 'none' }).split('.').slice(0, 2).join('.')}.`;
  const der = Buffer.from(integrityKeys.verification).toString('latin1');

  test.each<[name: string, make: () => string | Promise<string>]>([
    // Faults of the JWE.
    ['dir: the shared key itself encrypts', () => sealed(jws(), { alg: 'dir' })],
    ['A256KW by another key', () => sealed(jws(), {}, randomBytes(32))],
    ['ECDH-ES to the verification key, which is no secret', () => sealed(jws(), { alg: 'ECDH-ES' }, verificationKey)],
    ['A128GCM', () => sealed(jws(), { enc: 'A128GCM' })],
    ['compressed', () => sealed(jws(), { zip: 'DEF' })],
    ['a bomb: 5 MB in 7 KB', async () => sealed(Buffer.alloc(5 * 1024 * 1024, 'A'), { zip: 'DEF' })],
    ['no JWE around the JWS', () => jws()],
    [
      'an unused bit of its last character set',
      async () => (await sealed(jws())).replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) + 1)),
    ],
    ['longer than any token', () => sealed(jws({ ...genuine, more: 'x'.repeat(8192) }))],
    ['nothing', () => ''],
    // Faults of the JWS inside.
    ['an unsigned payload', () => sealed(JSON.stringify(genuine))],
    ['alg none', () => sealed(unsigned())],
    ['HS256 with the verification key as its secret', () => sealed(signed({ alg: 'HS256' }, genuine, der))],
    ['signed by a stranger', () => sealed(signed({ alg: 'ES256' }, genuine, stranger.privateKey))],
    ['signed by a longer curve', () => sealed(signed({ alg: 'ES384' }, genuine, p384.privateKey))],
    ['signed by RSA', () => sealed(signed({ alg: 'RS256', jwk: jwkOf(rsa) }, genuine, rsa.privateKey))],
    ['an unknown crit', () => sealed(jws(genuine, { crit: ['exp'], exp: 1 }))],
    // Faults of the payload.
    ['payload not JSON', () => attested('requestDetails')],
    ['payload not UTF-8', () => attested(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))],
    ['payload nested 1500 deep', () => attested('['.repeat(1500) + ']'.repeat(1500))],
    ['time a word', () => attested({ ...genuine, requestDetails: { ...genuine.requestDetails, timestampMillis: 'now' } })],
    ['device verdict a text', () => attested({ ...genuine, deviceIntegrity: { deviceRecognitionVerdict: 'MEETS_DEVICE_INTEGRITY' } })],
  ])('refuses with bad_token: %s', async (_, make) => {
    const text = await make();
    expect(await refusal(tokens.open(text))).toEqual(badToken);
    expect(asked).toEqual([]);
    expect(issuer.logLines).toHaveLength(1);
    expect(JSON.parse(issuer.logLines[0]!)).toMatchObject({ level: 20, msg: 'an integrity token does not verify' });
    for (const part of [...text.split('.'), nonce].filter((piece) => piece.length > 12)) expect(issuer.logLines[0]).not.toContain(part);
  });
});

describe('IntegrityTokens without keys, by decodeIntegrityToken', () => {
  const [OTHER, OPAQUE] = ['com.example.other', 'opaque-token'];
  beforeEach(() => {
    const packageNames = [OTHER, PACKAGE_NAME];
    issuer.settings = { ...issuer.settings, packageNames, integrityUrl: 'https://playintegrity.example', integrityKeys: undefined };
  });
  const taken = { status: 200, body: { tokenPayloadExternal: { ...genuine, fresh: 'a field we do not know' } } };
  const away = () => refuse('app_store_unavailable', { retryAfterMs: 500 });
  /** Answers for the two apps in their order; an error is thrown. */
  const answers = (...each: readonly (ApiAnswer | Error)[]) => {
    answer = async ({ url }) => {
      const given = each[url.includes(PACKAGE_NAME) ? 1 : 0]!;
      if (given instanceof Error) throw given;
      return given;
    };
  };

  test('asks the store for each app in turn until one accepts the token', async () => {
    answers({ status: 400, body: { error: { code: 400 } } }, taken);
    expect(failedChecks(await tokens.open(OPAQUE), { nonce, packageNames: [PACKAGE_NAME], now: NOW })).toEqual([]);
    expect(asked).toEqual(
      [OTHER, PACKAGE_NAME].map((app) => ({
        budgetMs: expect.any(Number),
        method: 'POST',
        url: `https://playintegrity.example/v1/${app}:decodeIntegrityToken`,
        body: { integrity_token: OPAQUE },
      })),
    );
    answers(away(), taken);
    expect((await tokens.open(OPAQUE)).appIntegrity.packageName).toBe(PACKAGE_NAME);
  });

  const answered = (body: unknown) => Array.from({ length: 2 }, () => ({ status: 200, body }));
  test.each<[code: string, when: string, each: (ApiAnswer | Error)[]]>([
    ['bad_token', 'answers 400 and 410', [400, 410].map((status) => ({ status, body: {} }))],
    ['app_store_unavailable', 'answers 200 with nothing', answered({})],
    ['app_store_unavailable', 'answers 200 with no payload', answered({ tokenPayloadExternal: 'yes' })],
    ['app_store_unavailable', 'answers 200 with null', answered(null)],
    ['app_store_unavailable', 'fails', [away(), away()]],
    ['app_store_unavailable', 'refuses one app and fails for the other', [{ status: 400, body: {} }, away()]],
    ['store_unconfigured', 'has no service account', [refuse('store_unconfigured')]],
  ])('refuses with %s when the store %s', async (code, _, each) => {
    answers(...each);
    expect(await refusal(tokens.open(OPAQUE))).toMatchObject({ code });
  });

  test('shares one time budget among all apps', async () => {
    const budgets: number[] = [];
    answer = async ({ budgetMs }) => {
      budgets.push(budgetMs!);
      // The call takes 120 ms of the real clock, so the next call's budget has to be shorter by that.
      await sleep(120);
      return { status: 400, body: {} };
    };
    expect(await refusal(tokens.open(OPAQUE))).toEqual(badToken);
    expect(budgets[0]).toBeLessThanOrEqual(8000);
    expect(budgets[1]).toBeLessThanOrEqual(7890);
  });
});

const request = (requestDetails: object) => ({ requestDetails });
const app = (appIntegrity: object) => ({ appIntegrity });
const device = (...deviceRecognitionVerdict: string[]) => ({ deviceIntegrity: { deviceRecognitionVerdict } });
const licence = (appLicensingVerdict: string) => ({ accountDetails: { appLicensingVerdict } });

test.each<[failed: string[], name: string, change: object]>([
  [[], 'as it should be', {}],
  [[], 'its nonce padded', request({ nonce: `${nonce}=` })],
  [[], 'of just 5 minutes ago', request({ timestampMillis: String(NOW - 300_000) })],
  [[], 'of a clock one minute ahead', request({ timestampMillis: String(NOW + 60_000) })],
  [[], 'its time a number', request({ timestampMillis: NOW })],
  [[], 'of the other app', { ...request({ requestPackageName: 'com.example.other' }), ...app({ packageName: 'com.example.other' }) }],
  [[], 'of a strong device', device('MEETS_BASIC_INTEGRITY', 'MEETS_DEVICE_INTEGRITY', 'MEETS_STRONG_INTEGRITY')],
  [['nonce'], 'for more than the nonce', request({ nonce: `${nonce}A` })],
  [['nonce'], 'for an empty nonce', request({ nonce: '' })],
  [['nonce'], 'for a hash: a standard request', request({ nonce: undefined, requestHash: nonce })],
  [['package'], 'asked for by another app', request({ requestPackageName: 'com.example.evil' })],
  [['package'], 'of another app', app({ packageName: 'com.example.evil' })],
  [['package'], 'of our other app than it was asked for', app({ packageName: 'com.example.other' })],
  [['package'], 'without the app', app({ packageName: undefined })],
  [['age'], 'older than 5 minutes', request({ timestampMillis: String(NOW - 300_001) })],
  [['age'], 'more than a minute ahead', request({ timestampMillis: String(NOW + 60_001) })],
  [['age'], 'in seconds', request({ timestampMillis: String(NOW / 1000) })],
  [['age'], 'without a time', request({ timestampMillis: undefined })],
  [['app_recognition'], 'of an unrecognised version', app({ appRecognitionVerdict: 'UNRECOGNIZED_VERSION' })],
  [['app_recognition'], 'of an unknown value', app({ appRecognitionVerdict: 'PLAY_RECOGNIZED_BETA' })],
  [
    ['package', 'app_recognition', 'licensing'],
    'not evaluated',
    { ...app({ appRecognitionVerdict: 'UNEVALUATED', packageName: undefined }), ...licence('UNEVALUATED') },
  ],
  [['device_integrity'], 'of basic integrity only', device('MEETS_BASIC_INTEGRITY')],
  [['device_integrity'], 'of a virtual device', device('MEETS_VIRTUAL_INTEGRITY')],
  [['licensing'], 'without a licence', licence('UNLICENSED')],
])('a verdict fails %j: %s', async (failed, _, change) => {
  issuer.settings = { ...issuer.settings, packageNames: [PACKAGE_NAME], integrityKeys: () => Promise.resolve(integrityKeys) };
  const changed = Object.entries(genuine).map(([part, fields]) => [
    part,
    { ...fields, ...(change as typeof genuine)[part as 'appIntegrity'] },
  ]);
  const payload = await tokens.open(await attested(Object.fromEntries(changed) as object));
  expect(failedChecks(payload, { nonce, packageNames: ['com.example.other', PACKAGE_NAME], now: NOW })).toEqual(failed);
});
