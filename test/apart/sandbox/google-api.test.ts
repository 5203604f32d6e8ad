import type { JWTPayload } from 'jose';
import { describe, expect, test } from 'vitest';
import { forFile, start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { issue } from '../../store.ts';
import * as sandbox from './google.ts';

const service = await forFile(start());

const inSeconds = (seconds: number): number => Math.floor(service.now() / 1000) + seconds;

describe('the access tokens of the sandbox', () => {
  test('are given for the assertion of the service account, for an hour, and count on every service of the same Redis', async () => {
    await using other = await start();
    const { status, headers, body } = await sandbox.askForToken(other, {
      grant_type: sandbox.JWT_BEARER,
      assertion: await sandbox.assertionFor(other),
    });
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
      200,
      'application/json; charset=UTF-8',
      'no-store',
    ]);
    expect(body).toEqual({ access_token: expect.any(String), expires_in: 3600, token_type: 'Bearer' });
    const authorization = `Bearer ${body.access_token}`;
    const statusAt = async (at: TestService): Promise<number> =>
      (await sandbox.google(at, sandbox.subscriptionPath(sandbox.UNKNOWN), { headers: { authorization } })).status;
    expect([await statusAt(service), await statusAt(other)]).toEqual([404, 404]);
    other.advance(3_600_000);
    expect(await statusAt(other)).toBe(401);
  });

  const { JWT_BEARER, assertionFor } = sandbox;
  const assertion = (claims: JWTPayload, key?: string) => async () => ({
    grant_type: JWT_BEARER,
    assertion: await assertionFor(service, claims, key),
  });
  test.each<[why: string, form: () => Promise<Record<string, string>>, error: string]>([
    ['for another grant', async () => ({ grant_type: 'client_credentials', assertion: 'a.b.c' }), 'unsupported_grant_type'],
    ['without a JWT', async () => ({ grant_type: JWT_BEARER, assertion: 'nonsense' }), 'invalid_grant'],
    ['of another account', assertion({ iss: 'someone@sandbox.coinop' }), 'invalid_grant'],
    ['for another address', assertion({ aud: 'https://oauth2.googleapis.com/token' }), 'invalid_grant'],
    ['for more than an hour', assertion({ exp: inSeconds(3700) }), 'invalid_grant'],
    ['of more than an hour ago', assertion({ iat: inSeconds(-3700), exp: inSeconds(60) }), 'invalid_grant'],
    ['without a scope', assertion({ scope: undefined }), 'invalid_scope'],
    ['signed by another key', assertion({}, 'tokens'), 'invalid_grant'],
  ])('are refused %s', async (_, form, error) => {
    const { status, body } = await sandbox.askForToken(service, await form());
    expect([status, body]).toEqual([400, { error, error_description: expect.any(String) }]);
  });

  test.each([
    ['GET', sandbox.subscriptionPath('x'), sandbox.INTEGRITY],
    ['POST', `${sandbox.purchasesPath()}/subscriptions/premium/tokens/x:acknowledge`, sandbox.INTEGRITY],
    ['GET', `${sandbox.purchasesPath()}/productsv2/tokens/x`, sandbox.INTEGRITY],
    ['POST', `${sandbox.purchasesPath()}/products/coins_500/tokens/x:consume`, sandbox.INTEGRITY],
    ['GET', `${sandbox.purchasesPath()}/voidedpurchases`, sandbox.INTEGRITY],
    ['POST', sandbox.decodePath, sandbox.PUBLISHER],
  ])('are needed by %s %s, with the scope of the API', async (method, path, otherScope) => {
    const { token: idToken } = await issue(service, { kind: 'id_token' });
    const wrong = await sandbox.accessTokenFor(service, otherScope);
    const codes: string[] = [];
    for (const authorization of ['', 'Bearer nonsense', `Bearer ${idToken}`, `Bearer ${wrong.slice(0, -4)}AAAA`, `Bearer ${wrong}`]) {
      const headers = { 'content-type': 'application/json', ...(authorization === '' ? {} : { authorization }) };
      const { status, body } = await sandbox.google(service, path, { method, headers, ...(method === 'POST' ? { body: '{}' } : {}) });
      codes.push(`${status} ${body.error.status}`);
    }
    expect(codes).toEqual([...Array<string>(4).fill('401 UNAUTHENTICATED'), '403 PERMISSION_DENIED']);
  });
});

test('decodeIntegrityToken omits checks that did not run, as Google does, and refuses tokens that are none or of another app', async () => {
  const decode = async (order: object) => {
    const { integrityToken } = await issue(service, { kind: 'integrity_token', nonce: 'n'.repeat(43), ...order });
    return sandbox.call(service, sandbox.decodePath, { integrity_token: integrityToken }, sandbox.INTEGRITY);
  };
  const unknown = { appRecognitionVerdict: 'UNEVALUATED', deviceRecognitionVerdict: [], appLicensingVerdict: 'UNEVALUATED' };
  expect((await decode(unknown)).body.tokenPayloadExternal).toMatchObject({
    appIntegrity: { appRecognitionVerdict: 'UNEVALUATED' },
    deviceIntegrity: {},
    accountDetails: { appLicensingVerdict: 'UNEVALUATED' },
  });
  expect((await decode({ packageName: 'com.other.app' })).body.error).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT' });
  const decodeAt = async (path: string) => (await sandbox.call(service, path, { integrityToken: 'nonsense' }, sandbox.INTEGRITY)).status;
  expect([await decodeAt(sandbox.decodePath), await decodeAt(sandbox.decodePath.replace(':decodeIntegrityToken', ''))]).toEqual([400, 404]);
});

test('the keys of the sandbox are the same for services that start at the same time, and stay in Redis for the next start', async () => {
  await using redis = await startRedis();
  await using first = await start({ redis: redis.location });
  await using second = await start({ redis: redis.location });
  const [set, other] = await Promise.all([first, second].map((each) => each.get('/sandbox/jwks.json')));
  // Public keys only.
  const key = { kty: 'RSA', n: expect.stringMatching(/^[\w-]{342}$/), e: 'AQAB', kid: expect.any(String), alg: 'RS256', use: 'sig' };
  expect([set!.body, set!.headers.get('cache-control')]).toEqual([{ keys: [key] }, expect.stringMatching(/^public, max-age=\d{4}/)]);
  expect(other!.body).toEqual(set!.body);
  await using later = await start({ redis: redis.location });
  expect((await later.get('/sandbox/jwks.json')).body).toEqual(set!.body);
  expect(await redis.redis.ttl('{sandbox:keys}')).toBe(-1);
});
