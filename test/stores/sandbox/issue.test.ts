import { createDecipheriv, createPublicKey, verify } from 'node:crypto';
import { compactDecrypt, compactVerify, createLocalJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { start, type TestService } from '../../harness.ts';
import { accessTokenFor, google, keptKeys, PUBLISHER, purchasePath } from './google.ts';

const MINUTE_MS = 60_000;
const nonce = 'n'.repeat(43);

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

const issue = (body: object, at = service) => at.post('/sandbox/issue', body);

describe('POST /sandbox/issue with kind id_token', () => {
  test("answers with an ID token that differs from Google's only in issuer, audience and key", async () => {
    const before = Math.floor(service.now() / 1000);
    const { status, body } = await issue({ kind: 'id_token' });
    expect(status).toBe(200);
    expect(body).toEqual({
      ok: true,
      token: expect.any(String),
      subject: expect.stringMatching(/^1\d{20}$/),
      expiresAt: expect.any(String),
    });
    const jwks = (await service.get('/sandbox/jwks.json')).body;
    const { payload, protectedHeader } = await jwtVerify(body.token, createLocalJWKSet(jwks), { currentDate: new Date(service.now()) });
    expect(protectedHeader).toEqual({ alg: 'RS256', kid: jwks.keys[0].kid, typ: 'JWT' });
    expect(payload).toEqual({
      iss: 'https://accounts.sandbox.coinop',
      azp: 'sandbox.apps.coinop',
      aud: 'sandbox.apps.coinop',
      sub: body.subject,
      iat: expect.any(Number),
      exp: payload.iat! + 3600,
    });
    expect(payload.iat).toBeGreaterThanOrEqual(before);
    expect(new Date(payload.exp! * 1000).toISOString()).toBe(body.expiresAt);
  });

  test('accepts a subject, an e-mail address and a life', async () => {
    const { body } = await issue({ kind: 'id_token', subject: 'ada', email: 'ada@example.com', expiresInSeconds: -5 });
    const [, claims] = body.token.split('.');
    const payload = JSON.parse(Buffer.from(claims, 'base64url').toString());
    expect(payload).toMatchObject({ sub: 'ada', email: 'ada@example.com', email_verified: true });
    const now = service.now() / 1000;
    expect(payload.exp).toBeLessThan(now - 4);
    expect(payload.exp).toBeGreaterThan(now - 65);
    expect(payload.iat).toBe(payload.exp - 3600);
    const long = (await issue({ kind: 'id_token', expiresInSeconds: 86_400 })).body;
    expect(Date.parse(long.expiresAt) - service.now()).toBeGreaterThan(86_390_000);
  });

  test('every token without a subject has a new one', async () => {
    const subjects = await Promise.all(Array.from({ length: 10 }, async () => (await issue({ kind: 'id_token' })).body.subject));
    expect(new Set(subjects).size).toBe(10);
  });
});

describe('POST /sandbox/issue with kind integrity_token', () => {
  test('answers with a nested token of a classic request, which jose opens', async () => {
    const keys = await keptKeys(service);
    const { status, body } = await issue({ kind: 'integrity_token', nonce });
    expect([status, Object.keys(body)]).toEqual([200, ['ok', 'integrityToken']]);
    const outer = await compactDecrypt(body.integrityToken, Buffer.from(keys['integrityDecryption']!, 'base64url'));
    expect(outer.protectedHeader).toEqual({ alg: 'A256KW', enc: 'A256GCM' });
    const inner = await compactVerify(outer.plaintext, createPublicKey(keys['integritySigning']!));
    expect(inner.protectedHeader).toEqual({ alg: 'ES256' });
    expect(JSON.parse(new TextDecoder().decode(inner.payload))).toMatchObject({ requestDetails: { nonce } });
  });

  /** Opens a token without jose, step by step as in appendix A.3 of RFC 7516 and of RFC 7515. */
  const openByHand = async (token: string) => {
    const keys = await keptKeys(service);
    const [header, wrapped, iv, sealed, tag] = token.split('.') as [string, string, string, string, string];
    const unwrap = createDecipheriv('id-aes256-wrap', Buffer.from(keys['integrityDecryption']!, 'base64url'), Buffer.alloc(8, 0xa6));
    const contentKey = Buffer.concat([unwrap.update(wrapped, 'base64url'), unwrap.final()]);
    const decipher = createDecipheriv('aes-256-gcm', contentKey, Buffer.from(iv, 'base64url'));
    decipher.setAAD(Buffer.from(header)).setAuthTag(Buffer.from(tag, 'base64url'));
    const jws = Buffer.concat([decipher.update(sealed, 'base64url'), decipher.final()]).toString();
    const [innerHeader, payload, signature] = jws.split('.') as [string, string, string];
    const key = { key: createPublicKey(keys['integritySigning']!), dsaEncoding: 'ieee-p1363' } as const;
    expect(verify('sha256', Buffer.from(`${innerHeader}.${payload}`), key, Buffer.from(signature, 'base64url'))).toBe(true);
    return JSON.parse(Buffer.from(payload, 'base64url').toString());
  };

  test('the token, opened by hand, holds the verdicts of the order', async () => {
    const { body } = await issue({
      kind: 'integrity_token',
      nonce,
      packageName: 'com.other.app',
      appRecognitionVerdict: 'UNRECOGNIZED_VERSION',
      deviceRecognitionVerdict: ['MEETS_BASIC_INTEGRITY', 'MEETS_STRONG_INTEGRITY'],
      appLicensingVerdict: 'UNLICENSED',
      ageSeconds: 600,
    });
    const payload = await openByHand(body.integrityToken);
    expect(payload).toEqual({
      requestDetails: { requestPackageName: 'com.other.app', nonce, timestampMillis: expect.stringMatching(/^\d{13}$/) },
      appIntegrity: {
        appRecognitionVerdict: 'UNRECOGNIZED_VERSION',
        packageName: 'com.other.app',
        certificateSha256Digest: [expect.any(String)],
        versionCode: '1',
      },
      deviceIntegrity: { deviceRecognitionVerdict: ['MEETS_BASIC_INTEGRITY', 'MEETS_STRONG_INTEGRITY'] },
      accountDetails: { appLicensingVerdict: 'UNLICENSED' },
    });
    const age = service.now() - Number(payload.requestDetails.timestampMillis);
    expect([age >= 600_000, age < 660_000]).toEqual([true, true]);
  });

  test('omits the fields that Google omits for unevaluated verdicts', async () => {
    const order = { kind: 'integrity_token', nonce, appRecognitionVerdict: 'UNEVALUATED', deviceRecognitionVerdict: [] };
    const { body } = await issue({ ...order, appLicensingVerdict: 'UNEVALUATED' });
    expect(await openByHand(body.integrityToken)).toMatchObject({
      appIntegrity: { appRecognitionVerdict: 'UNEVALUATED' },
      deviceIntegrity: {},
      accountDetails: { appLicensingVerdict: 'UNEVALUATED' },
    });
    const { appIntegrity, deviceIntegrity } = await openByHand(body.integrityToken);
    expect([Object.keys(appIntegrity), Object.keys(deviceIntegrity)]).toEqual([['appRecognitionVerdict'], []]);
  });
});

describe('POST /sandbox/issue with kind subscription', () => {
  const subscription = async (order: object = {}, at = service) => (await issue({ kind: 'subscription', ...order }, at)).body;
  const inMinutes = (expiresAt: string, at = service): number => Math.round((Date.parse(expiresAt) - at.now()) / 6000) / 10 + 0;

  test('a subscription is active for five minutes by default', async () => {
    const body = await subscription();
    expect(body).toEqual({
      ok: true,
      purchaseToken: expect.stringMatching(/^sandbox\.[\w-]{32}$/),
      productId: 'premium',
      packageName: 'dev.coinop.sandbox',
      state: 'active',
      expiresAt: expect.any(String),
    });
    expect(inMinutes(body.expiresAt)).toBe(5);
  });

  test('accepts a product, a package and a length', async () => {
    const body = await subscription({ productId: 'gold_1', packageName: 'com.other.app', minutes: 0.5 });
    expect(body).toMatchObject({ productId: 'gold_1', packageName: 'com.other.app' });
    expect(inMinutes(body.expiresAt)).toBe(0.5);
    expect((await subscription({ state: 'pending' })).expiresAt).toBeUndefined();
  });

  test('an order with a purchaseToken renews or refunds it and keeps omitted fields', async () => {
    await using own = await start();
    const first = await subscription({ minutes: 2, graceMinutes: 3, productId: 'gold', linkedPurchaseToken: 'old' }, own);
    const { purchaseToken } = first;
    own.advance(2.5 * MINUTE_MS);
    const renewed = await subscription({ purchaseToken, state: 'active' }, own);
    expect(renewed).toMatchObject({ purchaseToken, productId: 'gold', state: 'active' });
    expect(inMinutes(renewed.expiresAt, own)).toBe(2);
    own.advance(4.5 * MINUTE_MS);
    const read = async () => {
      const authorization = `Bearer ${await accessTokenFor(own, PUBLISHER)}`;
      return (await google(own, purchasePath('dev.coinop.sandbox', purchaseToken), { headers: { authorization } })).body;
    };
    const inGrace = await read();
    expect(inGrace).toMatchObject({ subscriptionState: 'SUBSCRIPTION_STATE_IN_GRACE_PERIOD', linkedPurchaseToken: 'old' });
    expect(inGrace.latestOrderId).toMatch(/\.\.0$/);
    expect(Date.parse(inGrace.startTime)).toBe(Date.parse(first.expiresAt) - 2 * MINUTE_MS);
    const refunded = await subscription({ purchaseToken, state: 'expired' }, own);
    expect([refunded.state, inMinutes(refunded.expiresAt, own)]).toEqual(['expired', 0]);
    expect(await read()).toMatchObject({ subscriptionState: 'SUBSCRIPTION_STATE_EXPIRED' });
  });

  test('a canceled subscription keeps its end unless the order names a length', async () => {
    await using own = await start();
    const { purchaseToken, expiresAt } = await subscription({ minutes: 10 }, own);
    own.advance(4 * MINUTE_MS);
    expect(await subscription({ purchaseToken, state: 'canceled' }, own)).toMatchObject({ state: 'canceled', expiresAt });
    expect(inMinutes((await subscription({ purchaseToken, state: 'canceled', minutes: 1 }, own)).expiresAt, own)).toBe(1);
    own.advance(MINUTE_MS);
    expect(await subscription({ purchaseToken, state: 'canceled' }, own)).toMatchObject({ state: 'expired' });
  });

  test('a pending subscription starts when it is paid, without a renewal', async () => {
    await using own = await start();
    const { purchaseToken } = await subscription({ state: 'pending', minutes: 60 }, own);
    own.advance(10 * MINUTE_MS);
    const paid = await subscription({ purchaseToken, state: 'active', minutes: 2 }, own);
    expect([paid.state, inMinutes(paid.expiresAt, own)]).toEqual(['active', 2]);
    const authorization = `Bearer ${await accessTokenFor(own, PUBLISHER)}`;
    const { body } = await google(own, purchasePath('dev.coinop.sandbox', purchaseToken), { headers: { authorization } });
    expect(Date.parse(body.startTime)).toBe(Date.parse(paid.expiresAt) - 2 * MINUTE_MS);
    expect(body.latestOrderId).not.toContain('..');
  });

  test('an order cannot change the package or product of a purchase', async () => {
    const { purchaseToken } = await subscription();
    for (const [field, other] of [
      ['packageName', 'com.other.app'],
      ['productId', 'gold'],
    ]) {
      const { status, body } = await issue({ kind: 'subscription', purchaseToken, [field!]: other });
      expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', field]);
    }
    expect(await subscription({ purchaseToken, packageName: 'dev.coinop.sandbox', productId: 'premium' })).toMatchObject({ purchaseToken });
  });

  test('notify: true pushes a notification to the service', async () => {
    expect((await subscription({ notify: true })).notified).toBe(true);
    expect(await subscription({ notify: false })).not.toHaveProperty('notified');
  });

  test.each([
    ['kind', {}],
    ['kind', { kind: 'coins' }],
    ['subject', { kind: 'id_token', subject: '' }],
    ['subject', { kind: 'id_token', subject: 'x'.repeat(256) }],
    ['email', { kind: 'id_token', email: 'nobody' }],
    ['expiresInSeconds', { kind: 'id_token', expiresInSeconds: 86_401 }],
    ['expiresInSeconds', { kind: 'id_token', expiresInSeconds: -86_401 }],
    ['expiresInSeconds', { kind: 'id_token', expiresInSeconds: 1.5 }],
    ['nonce', { kind: 'integrity_token' }],
    ['nonce', { kind: 'integrity_token', nonce: 'short' }],
    ['nonce', { kind: 'integrity_token', nonce: 'n'.repeat(501) }],
    ['packageName', { kind: 'integrity_token', nonce, packageName: 'nodots' }],
    ['packageName', { kind: 'subscription', packageName: `a.${'b'.repeat(149)}` }],
    ['appRecognitionVerdict', { kind: 'integrity_token', nonce, appRecognitionVerdict: 'FINE' }],
    ['deviceRecognitionVerdict.0', { kind: 'integrity_token', nonce, deviceRecognitionVerdict: ['FINE'] }],
    ['appLicensingVerdict', { kind: 'integrity_token', nonce, appLicensingVerdict: 'FINE' }],
    ['ageSeconds', { kind: 'integrity_token', nonce, ageSeconds: 86_401 }],
    ['state', { kind: 'subscription', state: 'pending_canceled' }],
    ['minutes', { kind: 'subscription', minutes: 0 }],
    ['minutes', { kind: 'subscription', minutes: -1 }],
    ['minutes', { kind: 'subscription', minutes: '2' }],
    ['minutes', { kind: 'subscription', minutes: 525_601 }],
    ['graceMinutes', { kind: 'subscription', graceMinutes: -1 }],
    ['graceMinutes', { kind: 'subscription', graceMinutes: 43_201 }],
    ['renew', { kind: 'subscription', renew: true }],
    ['productId', { kind: 'subscription', productId: 'Gold' }],
    ['linkedPurchaseToken', { kind: 'subscription', linkedPurchaseToken: 'with blanks' }],
    ['purchaseToken', { kind: 'subscription', purchaseToken: 'made-up' }],
    ['purchaseToken', { kind: 'subscription', purchaseToken: `sandbox.${'A'.repeat(32)}` }],
    ['notify', { kind: 'subscription', state: 'pending', notify: true }],
  ])('refuses a bad order, and the error names the field %s', async (field, body) => {
    const { status, body: reply } = await issue(body);
    expect([status, reply.error.code, reply.error.field]).toEqual([400, 'invalid_request', field]);
  });
});
