import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { start, type TestService } from '../../harness.ts';
import { accessTokenFor, google, PUBLISHER, purchasePath, type GoogleReply } from './google.ts';

let service: TestService;
let authorization: string;
beforeAll(async () => {
  service = await start();
  authorization = `Bearer ${await accessTokenFor(service, PUBLISHER)}`;
});
afterAll(() => service[Symbol.asyncDispose]());

const issue = async (order: object) => (await service.post('/sandbox/issue', { kind: 'subscription', ...order })).body;

const acknowledge = (
  purchaseToken: string,
  productId = 'premium',
  headers: Record<string, string> = { authorization },
): Promise<GoogleReply> =>
  google(
    service,
    `/sandbox/androidpublisher/androidpublisher/v3/applications/dev.coinop.sandbox/purchases/subscriptions/${productId}/tokens/${purchaseToken}`,
    { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
  );

const acknowledgementState = async (purchaseToken: string): Promise<string> =>
  (await google(service, purchasePath('dev.coinop.sandbox', purchaseToken), { headers: { authorization } })).body.acknowledgementState;

describe('POST /sandbox/androidpublisher/…:acknowledge', () => {
  test('acknowledges a purchase with 204, and again when repeated', async () => {
    const { purchaseToken } = await issue({});
    expect(await acknowledgementState(purchaseToken)).toBe('ACKNOWLEDGEMENT_STATE_PENDING');
    const { status, text } = await acknowledge(`${purchaseToken}:acknowledge`);
    expect([status, text]).toEqual([204, '']);
    expect(await acknowledgementState(purchaseToken)).toBe('ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED');
    expect((await acknowledge(`${purchaseToken}:acknowledge`)).status).toBe(204);
  });

  test('accepts a developerPayload and a percent-encoded token', async () => {
    const { purchaseToken } = await issue({});
    const path = `/sandbox/androidpublisher/androidpublisher/v3/applications/dev.coinop.sandbox/purchases/subscriptions/premium/tokens/`;
    const { status } = await google(service, `${path}${encodeURIComponent(`${purchaseToken}:acknowledge`)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: '{"developerPayload":"x"}',
    });
    expect(status).toBe(204);
    expect(await acknowledgementState(purchaseToken)).toBe('ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED');
  });

  test('a purchase stays acknowledged when its state changes', async () => {
    const { purchaseToken } = await issue({});
    await acknowledge(`${purchaseToken}:acknowledge`);
    await issue({ purchaseToken, state: 'expired' });
    expect(await acknowledgementState(purchaseToken)).toBe('ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED');
    expect((await acknowledge(`${purchaseToken}:acknowledge`)).status).toBe(204);
  });

  test.each(['pending', 'expired'])('refuses a purchase that is %s', async (state) => {
    const { purchaseToken } = await issue({ state });
    const { status, body } = await acknowledge(`${purchaseToken}:acknowledge`);
    expect([status, body.error.errors[0].reason]).toEqual([400, 'invalidPurchaseState']);
    expect(await acknowledgementState(purchaseToken)).toBe('ACKNOWLEDGEMENT_STATE_PENDING');
  });

  test.each<[name: string, ask: (own: string, other: string) => Promise<GoogleReply>, status: number, reason: string]>([
    ['another product', (own) => acknowledge(`${own}:acknowledge`, 'gold'), 400, 'invalid'],
    ['a token of another package', (_, other) => acknowledge(`${other}:acknowledge`), 400, 'purchaseTokenDoesNotMatchPackageName'],
    ['a missing call', (own) => acknowledge(own), 404, 'notFound'],
    ['another call', (own) => acknowledge(`${own}:cancel`), 404, 'notFound'],
    ['an unknown token', () => acknowledge(`sandbox.${'A'.repeat(32)}:acknowledge`), 404, 'purchaseTokenNotFound'],
    ['a malformed token', () => acknowledge('x:acknowledge'), 400, 'invalid'],
  ])('refuses %s', async (_, ask, status, reason) => {
    const { purchaseToken } = await issue({});
    const other = await issue({ packageName: 'com.other.app' });
    const reply = await ask(purchaseToken, other.purchaseToken);
    expect([reply.status, reply.body.error.errors[0].reason]).toEqual([status, reason]);
    expect(await acknowledgementState(purchaseToken)).toBe('ACKNOWLEDGEMENT_STATE_PENDING');
  });

  test('answers 401 without an access token', async () => {
    const { purchaseToken } = await issue({});
    expect((await acknowledge(`${purchaseToken}:acknowledge`, 'premium', {})).status).toBe(401);
    expect(await acknowledgementState(purchaseToken)).toBe('ACKNOWLEDGEMENT_STATE_PENDING');
  });
});
