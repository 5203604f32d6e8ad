import { createSecretKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { start, type TestService } from '../../harness.ts';
import { accessTokenFor, google, INTEGRITY, keptKeys, PUBLISHER, purchasePath, type GoogleReply } from './google.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

let service: TestService;
let accessToken: string;
beforeAll(async () => {
  service = await start();
  accessToken = await accessTokenFor(service, PUBLISHER);
});
afterAll(() => service[Symbol.asyncDispose]());

const issue = async (order: object, at = service) => (await at.post('/sandbox/issue', { kind: 'subscription', ...order })).body;

const read = (purchaseToken: string, packageName = 'dev.coinop.sandbox'): Promise<GoogleReply> =>
  google(service, purchasePath(packageName, purchaseToken), { headers: { authorization: `Bearer ${accessToken}` } });

describe('GET /sandbox/androidpublisher/…/subscriptionsv2', () => {
  test("answers in the shape of Google's purchases.subscriptionsv2.get", async () => {
    const before = service.now();
    const { purchaseToken, expiresAt } = await issue({ minutes: 2, productId: 'gold.monthly', linkedPurchaseToken: 'the-old-one' });
    const { status, headers, body } = await read(purchaseToken);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=UTF-8');
    expect(body).toEqual({
      kind: 'androidpublisher#subscriptionPurchaseV2',
      regionCode: 'US',
      startTime: new Date(Date.parse(expiresAt) - 2 * MINUTE_MS).toISOString(),
      subscriptionState: 'SUBSCRIPTION_STATE_ACTIVE',
      latestOrderId: expect.stringMatching(/^GPA\.\d{4}-\d{4}-\d{4}-\d{5}$/),
      linkedPurchaseToken: 'the-old-one',
      testPurchase: {},
      acknowledgementState: 'ACKNOWLEDGEMENT_STATE_PENDING',
      lineItems: [
        {
          productId: 'gold.monthly',
          expiryTime: expiresAt,
          latestSuccessfulOrderId: body.latestOrderId,
          autoRenewingPlan: { autoRenewEnabled: true },
          offerDetails: { basePlanId: 'sandbox' },
        },
      ],
    });
    expect(Date.parse(body.startTime)).toBeGreaterThanOrEqual(before);
  });

  test('names the buyer, and until the acknowledgement the expired purchase that was bought again outside the app', async () => {
    const old = await issue({ state: 'expired', obfuscatedAccountId: 'ada' });
    expect((await read(old.purchaseToken)).body).toMatchObject({ externalAccountIdentifiers: { obfuscatedExternalAccountId: 'ada' } });
    const again = await issue({ expiredPurchaseToken: old.purchaseToken });
    const { body } = await read(again.purchaseToken);
    expect(body).not.toHaveProperty('externalAccountIdentifiers');
    expect(body.outOfAppPurchaseContext).toEqual({
      expiredExternalAccountIdentifiers: { obfuscatedExternalAccountId: 'ada' },
      expiredPurchaseToken: old.purchaseToken,
    });
    await service.service.redis.hset(`{sandbox:subscription:${again.purchaseToken}}`, 'acknowledgedAt', 1);
    expect((await read(again.purchaseToken)).body).not.toHaveProperty('outOfAppPurchaseContext');
    const unknown = await issue({ expiredPurchaseToken: 'of-another-store', expiredObfuscatedAccountId: 'bob' });
    expect((await read(unknown.purchaseToken)).body.outOfAppPurchaseContext).toEqual({
      expiredExternalAccountIdentifiers: { obfuscatedExternalAccountId: 'bob' },
      expiredPurchaseToken: 'of-another-store',
    });
    const changed = await issue({ purchaseToken: old.purchaseToken, obfuscatedAccountId: 'eve' });
    expect(changed.error.field).toBe('obfuscatedAccountId');
  });

  /** Seconds from `at`, rounded to ten because the machine may be busy. */
  const seconds = (time: string | undefined, at: number): number | undefined =>
    time === undefined ? undefined : Math.round((Date.parse(time) - at) / 10_000) * 10 + 0;

  test.each([
    ['active', 'ACTIVE', 120, true],
    ['grace', 'IN_GRACE_PERIOD', 120, true],
    ['on_hold', 'ON_HOLD', 0, true],
    ['paused', 'PAUSED', 0, true],
    ['canceled', 'CANCELED', 120, false],
    ['expired', 'EXPIRED', 0, false],
    ['pending', 'PENDING', undefined, true],
  ])('a subscription that is %s has SUBSCRIPTION_STATE_%s', async (state, word, expiresIn, renewing) => {
    const at = service.now();
    const issued = await issue({ state, minutes: 2 });
    const { body } = await read(issued.purchaseToken);
    const [item] = body.lineItems;
    expect(issued.state).toBe(state);
    expect(issued.expiresAt).toBe(item.expiryTime);
    expect([body.subscriptionState, seconds(item.expiryTime, at), item.autoRenewingPlan.autoRenewEnabled]).toEqual([
      `SUBSCRIPTION_STATE_${word}`,
      expiresIn,
      renewing,
    ]);
    // A pending subscription has no start. A subscription past its first period began a period ago.
    const startedIn = { active: 0, canceled: 0, pending: undefined }[state as 'active'];
    expect(seconds(body.startTime, at)).toBe(state === 'pending' ? undefined : (startedIn ?? -120));
    expect('latestSuccessfulOrderId' in item).toBe(state !== 'pending');
    expect(Object.keys(body).filter((key) => key.endsWith('Context'))).toEqual(
      { paused: ['pausedStateContext'], canceled: ['canceledStateContext'], expired: ['canceledStateContext'] }[state as 'paused'] ?? [],
    );
  });

  test('names the end of a pause and the origin of a cancellation', async () => {
    const at = service.now();
    const paused = await read((await issue({ state: 'paused', minutes: 2 })).purchaseToken);
    expect(seconds(paused.body.pausedStateContext.autoResumeTime, at)).toBe(120);
    const canceled = await read((await issue({ state: 'canceled' })).purchaseToken);
    expect(seconds(canceled.body.canceledStateContext.userInitiatedCancellation.cancelTime, at)).toBe(0);
    const expired = await read((await issue({ state: 'expired' })).purchaseToken);
    expect(expired.body.canceledStateContext).toEqual({ systemInitiatedCancellation: {} });
  });

  test('goes from active to grace to expired by the clock alone', async () => {
    await using own = await start();
    const token = await accessTokenFor(own, PUBLISHER);
    const { purchaseToken } = await issue({ state: 'active', minutes: 2 }, own);
    const state = async (): Promise<string> =>
      (await google(own, purchasePath('dev.coinop.sandbox', purchaseToken), { headers: { authorization: `Bearer ${token}` } })).body
        .subscriptionState;
    expect(await state()).toBe('SUBSCRIPTION_STATE_ACTIVE');
    own.advance(1.5 * MINUTE_MS);
    expect(await state()).toBe('SUBSCRIPTION_STATE_ACTIVE');
    own.advance(0.5 * MINUTE_MS);
    expect(await state()).toBe('SUBSCRIPTION_STATE_IN_GRACE_PERIOD');
    own.advance(MINUTE_MS);
    expect(await state()).toBe('SUBSCRIPTION_STATE_EXPIRED');
  });

  test('numbers the order ids of renewals', async () => {
    await using own = await start();
    const { purchaseToken } = await issue({ minutes: 1, renew: 'paid' }, own);
    const order = async (): Promise<string> => {
      const token = await accessTokenFor(own, PUBLISHER);
      return (await google(own, purchasePath('dev.coinop.sandbox', purchaseToken), { headers: { authorization: `Bearer ${token}` } })).body
        .latestOrderId;
    };
    const first = await order();
    own.advance(MINUTE_MS);
    expect(await order()).toBe(`${first}..0`);
    own.advance(2 * MINUTE_MS);
    expect(await order()).toBe(`${first}..2`);
  });

  test('Redis keeps a subscription for 90 days past its end', async () => {
    const { purchaseToken } = await issue({ minutes: 2 });
    const ttl = await service.service.redis.ttl(`{sandbox:subscription:${purchaseToken}}`);
    expect(ttl).toBeGreaterThan(90 * 86_400);
    const long = await issue({ minutes: 525_600 });
    expect(await service.service.redis.ttl(`{sandbox:subscription:${long.purchaseToken}}`)).toBeGreaterThan(455 * 86_400);
  });

  const fault = (code: number, reason: string) => ({
    error: { code, message: expect.any(String), errors: [expect.objectContaining({ reason, message: expect.any(String) })] },
  });

  test('answers 400 to a malformed purchase token', async () => {
    for (const token of ['x', 'sandbox.short', `sandbox.${'%2F'.repeat(32)}`, 'a:b', 'x'.repeat(900)]) {
      const { status, body } = await read(token);
      expect([token, status, body]).toEqual([token, 400, fault(400, 'invalid')]);
    }
  });

  test('answers 404 to an unknown purchase token', async () => {
    const { status, body } = await read(`sandbox.${'A'.repeat(32)}`);
    expect([status, body]).toEqual([404, fault(404, 'purchaseTokenNotFound')]);
    expect(body.error.message).toBe('The purchase token was not found.');
  });

  test('answers 400 to a purchase token of another package', async () => {
    const { purchaseToken } = await issue({ packageName: 'com.other.app' });
    const { status, body } = await read(purchaseToken);
    expect([status, body]).toEqual([400, fault(400, 'purchaseTokenDoesNotMatchPackageName')]);
    expect((await read(purchaseToken, 'com.other.app')).status).toBe(200);
  });

  test('answers 410 to a subscription that expired 60 days ago', async () => {
    await using own = await start();
    const { purchaseToken } = await issue({ state: 'expired' }, own);
    const readOwn = async (): Promise<GoogleReply> => {
      const token = await accessTokenFor(own, PUBLISHER);
      return google(own, purchasePath('dev.coinop.sandbox', purchaseToken), { headers: { authorization: `Bearer ${token}` } });
    };
    own.advance(60 * DAY_MS - MINUTE_MS);
    expect((await readOwn()).status).toBe(200);
    own.advance(MINUTE_MS);
    const { status, body } = await readOwn();
    expect([status, body]).toEqual([410, fault(410, 'subscriptionPurchaseNoLongerAvailable')]);
  });

  test('answers 401 without a valid access token of the sandbox', async () => {
    const { purchaseToken } = await issue({});
    const { accessTokens, tokens } = await keptKeys(service);
    const { token: idToken } = (await service.post('/sandbox/issue', { kind: 'id_token' })).body;
    const now = Math.floor(service.now() / 1000);
    const sign = (typ: string, secret: string, exp = now + 600) =>
      new SignJWT({ scope: PUBLISHER })
        .setProtectedHeader({ alg: 'HS256', typ })
        .setExpirationTime(exp)
        .sign(createSecretKey(secret, 'base64url'));
    // A token made this way is accepted, so each token below is refused only because of its difference.
    const good = await sign('at+jwt', accessTokens!);
    const withHeader = (authorization: string) =>
      google(service, purchasePath('dev.coinop.sandbox', purchaseToken), { headers: authorization === '' ? {} : { authorization } });
    expect((await withHeader(`Bearer ${good}`)).status).toBe(200);
    for (const authorization of [
      '',
      'Bearer',
      'Bearer nonsense',
      `Basic ${good}`,
      good,
      `Bearer ${idToken}`,
      `Bearer ${good.slice(0, -4)}AAAA`,
      `Bearer ${await sign('JWT', accessTokens!)}`,
      `Bearer ${await sign('at+jwt', accessTokens!, now - 1)}`,
      `Bearer ${await sign('at+jwt', Buffer.from(tokens!).toString('base64url'))}`,
    ]) {
      const { status, headers, body } = await withHeader(authorization);
      expect([authorization, status, body.error.status]).toEqual([authorization, 401, 'UNAUTHENTICATED']);
      expect(body.error).toMatchObject({ code: 401, errors: [{ reason: 'authError', location: 'Authorization', locationType: 'header' }] });
      expect(headers.get('www-authenticate')).toMatch(/^Bearer /);
    }
  });

  test('answers 403 to an access token of another scope, and accepts one of several scopes', async () => {
    const token = await accessTokenFor(service, INTEGRITY);
    const { status, body } = await google(service, purchasePath('dev.coinop.sandbox', 'x'), {
      headers: { authorization: `Bearer ${token}` },
    });
    expect([status, body.error.status]).toEqual([403, 'PERMISSION_DENIED']);
    const both = await accessTokenFor(service, `${INTEGRITY} ${PUBLISHER}`);
    expect((await google(service, purchasePath('a.b', 'x'), { headers: { authorization: `Bearer ${both}` } })).status).toBe(400);
  });
});
