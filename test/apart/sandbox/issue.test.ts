import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import { expect, test } from 'vitest';
import { forFile, start } from '../../harness.ts';
import { issue } from '../../store.ts';
import { UNKNOWN } from './google.ts';

const service = await forFile(start());

test("an ID token of the sandbox differs from Google's only in issuer, audience and key, unless the order says more", async () => {
  const body = await issue(service, { kind: 'id_token' });
  const jwks = (await service.get('/sandbox/jwks.json')).body;
  const { payload, protectedHeader } = await jwtVerify(body.token, createLocalJWKSet(jwks), { currentDate: new Date(service.now()) });
  expect(protectedHeader).toEqual({ alg: 'RS256', kid: jwks.keys[0].kid, typ: 'JWT' });
  expect(payload).toEqual({
    iss: 'https://accounts.sandbox.coinop',
    azp: 'sandbox.apps.coinop',
    aud: 'sandbox.apps.coinop',
    sub: expect.stringMatching(/^1\d{20}$/),
    iat: expect.any(Number),
    exp: payload.iat! + 3600,
  });
  expect(body).toEqual({ ok: true, token: body.token, subject: payload.sub, expiresAt: new Date(payload.exp! * 1000).toISOString() });
  expect((await issue(service, { kind: 'id_token' })).subject).not.toBe(payload.sub);
  const ordered = await issue(service, { kind: 'id_token', subject: 'ada', email: 'ada@example.com', expiresInSeconds: -5 });
  const claims = decodeJwt(ordered.token);
  expect(claims).toMatchObject({ sub: 'ada', email: 'ada@example.com', email_verified: true, iat: claims.exp! - 3600 });
  expect(claims.exp).toBeLessThan(service.now() / 1000 - 4);
});

/** The rules that bind several fields. The bounds of a single field are those of its shape. */
test.each<[field: string, order: (bought: string, subscribed: string) => object]>([
  ['nonce', () => ({ kind: 'integrity_token' })],
  ['state', () => ({ kind: 'subscription', state: 'purchased' })],
  ['state', () => ({ kind: 'purchase', state: 'active' })],
  ['notify', () => ({ kind: 'subscription', state: 'pending', notify: true })],
  ['purchaseToken', () => ({ kind: 'subscription', purchaseToken: 'made-up' })],
  ['purchaseToken', () => ({ kind: 'subscription', purchaseToken: UNKNOWN })],
  ['packageName', (_, purchaseToken) => ({ kind: 'subscription', purchaseToken, packageName: 'com.other.app' })],
  ['productId', (_, purchaseToken) => ({ kind: 'subscription', purchaseToken, productId: 'gold' })],
  ['obfuscatedAccountId', (_, purchaseToken) => ({ kind: 'subscription', purchaseToken, obfuscatedAccountId: 'eve' })],
  ['purchaseToken', () => ({ kind: 'purchase', purchaseToken: UNKNOWN })],
  ['productId', (purchaseToken) => ({ kind: 'purchase', purchaseToken, productId: 'other' })],
  ['quantity', (purchaseToken) => ({ kind: 'purchase', purchaseToken, quantity: 3 })],
  ['refundedQuantity', (purchaseToken) => ({ kind: 'purchase', purchaseToken, refundedQuantity: 3 })],
  ['refundedQuantity', () => ({ kind: 'purchase', state: 'pending', refundedQuantity: 1 })],
])('POST /sandbox/issue refuses a wrong %s', async (field, orderFor) => {
  const bought = await issue(service, { kind: 'purchase', quantity: 2 });
  const subscribed = await issue(service, { kind: 'subscription', obfuscatedAccountId: 'ada' });
  const { status, body } = await service.post('/sandbox/issue', orderFor(bought.purchaseToken, subscribed.purchaseToken));
  expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', field]);
});
