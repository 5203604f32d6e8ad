import { createSecretKey } from 'node:crypto';
import { exportSPKI, generateKeyPair, importPKCS8, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { start, type TestService } from '../../harness.ts';
import {
  accessTokenFor,
  askForToken,
  assertionFor,
  google,
  JWT_BEARER,
  keptKeys,
  PUBLISHER,
  purchasePath,
  SERVICE_ACCOUNT,
} from './google.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

const ask = (assertion: string) => askForToken(service, { grant_type: JWT_BEARER, assertion });

describe('POST /sandbox/token', () => {
  test("answers with an access token for the service account's assertion", async () => {
    const { status, headers, body } = await ask(await assertionFor(service));
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=UTF-8');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toEqual({ access_token: expect.stringMatching(/^[\w.-]+$/), expires_in: 3600, token_type: 'Bearer' });
    const unknown = await google(service, purchasePath('dev.coinop.sandbox', `sandbox.${'A'.repeat(32)}`), {
      headers: { authorization: `Bearer ${body.access_token}` },
    });
    expect(unknown.status).toBe(404);
  });

  test('an access token is valid for an hour', async () => {
    await using own = await start();
    const token = await accessTokenFor(own, PUBLISHER);
    const status = async (): Promise<number> =>
      (await google(own, purchasePath('dev.coinop.sandbox', 'x'), { headers: { authorization: `Bearer ${token}` } })).status;
    own.advance(3_500_000);
    expect(await status()).toBe(400);
    own.advance(100_000);
    expect(await status()).toBe(401);
  });

  test('an access token is valid on every service of the same Redis', async () => {
    await using other = await start();
    const token = await accessTokenFor(other, PUBLISHER);
    const { status } = await google(service, purchasePath('dev.coinop.sandbox', 'x'), { headers: { authorization: `Bearer ${token}` } });
    expect(status).toBe(400);
  });

  test.each<[why: string, form: Record<string, string>, error: string]>([
    ['no grant', { assertion: 'a.b.c' }, 'invalid_request'],
    ['another grant', { grant_type: 'client_credentials', assertion: 'a.b.c' }, 'unsupported_grant_type'],
    ['no assertion', { grant_type: JWT_BEARER }, 'invalid_request'],
    ['no JWT', { grant_type: JWT_BEARER, assertion: 'nonsense' }, 'invalid_grant'],
  ])('refuses a form with %s', async (_, form, error) => {
    const { status, body } = await askForToken(service, form);
    expect([status, body]).toEqual([400, { error, error_description: expect.any(String) }]);
  });

  const SHORT_LIVED = /^Invalid JWT: Token must be a short-lived token \(60 minutes\)/;
  const inSeconds = (seconds: number): number => Math.floor(service.now() / 1000) + seconds;

  test.each<[why: string, claims: () => object, description: RegExp]>([
    ['another issuer', () => ({ iss: 'someone@sandbox.coinop' }), /^Invalid grant: account not found$/],
    ['no issuer', () => ({ iss: undefined }), /^Invalid grant: account not found$/],
    ['another audience', () => ({ aud: 'https://oauth2.googleapis.com/token' }), /^Invalid JWT: Failed audience check\.$/],
    ['no audience', () => ({ aud: undefined }), /^Invalid JWT: Failed audience check\.$/],
    ['an expiry in the past', () => ({ iat: inSeconds(-1000), exp: inSeconds(-61) }), SHORT_LIVED],
    ['no expiry', () => ({ exp: undefined }), SHORT_LIVED],
    ['no time of issue', () => ({ iat: undefined }), SHORT_LIVED],
    ['a time of issue in the future', () => ({ iat: inSeconds(120), exp: inSeconds(3000) }), SHORT_LIVED],
    ['a life of more than an hour', () => ({ exp: inSeconds(3700) }), SHORT_LIVED],
    ['a time of issue more than an hour ago', () => ({ iat: inSeconds(-3700), exp: inSeconds(60) }), SHORT_LIVED],
  ])('refuses an assertion with %s', async (_, claims, description) => {
    const { status, body } = await ask(await assertionFor(service, claims() as JWTPayload));
    expect([status, body]).toEqual([400, { error: 'invalid_grant', error_description: expect.stringMatching(description) }]);
  });

  test('refuses assertions signed with another key or algorithm, or not signed', async () => {
    const claims = { iss: SERVICE_ACCOUNT, aud: `${service.url}/sandbox/token`, iat: inSeconds(0), exp: inSeconds(600), scope: PUBLISHER };
    const { privateKey, publicKey } = await generateKeyPair('RS256');
    const keys = await keptKeys(service);
    const forged = [
      await new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(privateKey),
      await new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(await importPKCS8(keys['tokens']!, 'RS256')),
      await new SignJWT(claims).setProtectedHeader({ alg: 'PS256' }).sign(await importPKCS8(keys['serviceAccount']!, 'PS256')),
      await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(createSecretKey(Buffer.from(await exportSPKI(publicKey)))),
      new UnsecuredJWT(claims).encode(),
    ];
    for (const assertion of forged) {
      const { status, body } = await ask(assertion);
      expect([status, body.error]).toEqual([400, 'invalid_grant']);
    }
    expect((await ask(forged[0]!)).body.error_description).toBe('Invalid JWT Signature.');
  });

  test.each([undefined, '', 7])('refuses the scope %j', async (scope) => {
    const { status, body } = await ask(await assertionFor(service, { scope }));
    expect([status, body.error]).toEqual([400, 'invalid_scope']);
  });
});
