import { describe, expect, test } from 'vitest';
import { forFile, start } from '../../harness.ts';
import { issue as issueAt } from '../../store.ts';
import { APP, call, purchasesPath, subscriptionPath, UNKNOWN } from './google.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const service = await forFile(start());

const issue = (order: object = {}) => issueAt(service, { kind: 'subscription', ...order });
const read = (token: string, packageName?: string) => call(service, subscriptionPath(token, packageName));
const acknowledge = (token: string, productId = 'premium', packageName?: string) =>
  call(service, `${purchasesPath(packageName)}/subscriptions/${productId}/tokens/${token}`, { developerPayload: 'x' });
/** Minutes from now, rounded to tenths. */
const minutesTo = (time: string): number => Math.round((Date.parse(time) - service.now()) / 6000) / 10 + 0;

describe('a subscription of the sandbox', () => {
  test.each([
    ['active', 'ACTIVE', 2, []],
    ['grace', 'IN_GRACE_PERIOD', 2, []],
    ['on_hold', 'ON_HOLD', 0, []],
    ['paused', 'PAUSED', 0, ['pausedStateContext']],
    ['canceled', 'CANCELED', 2, ['canceledStateContext']],
    ['expired', 'EXPIRED', 0, ['canceledStateContext']],
  ])('that is %s has SUBSCRIPTION_STATE_%s', async (state, word, minutes, contexts) => {
    const { purchaseToken } = await issue({ state, minutes: 2 });
    const { body } = await read(purchaseToken);
    expect([body.subscriptionState, minutesTo(body.lineItems[0].expiryTime)]).toEqual([`SUBSCRIPTION_STATE_${word}`, minutes]);
    expect(Object.keys(body).filter((key) => key.endsWith('StateContext'))).toEqual(contexts);
  });

  test('keeps on a renewal what the order leaves out, numbers its order ids, and goes on by the clock', async () => {
    const { purchaseToken, expiresAt } = await issue({ minutes: 2, graceMinutes: 3, productId: 'gold', linkedPurchaseToken: 'old' });
    service.advance(2.5 * MINUTE_MS);
    const renewed = await issue({ purchaseToken, state: 'active' });
    expect([renewed.productId, renewed.state, minutesTo(renewed.expiresAt)]).toEqual(['gold', 'active', 2]);
    service.advance(4.5 * MINUTE_MS);
    const { body } = await read(purchaseToken);
    expect(body).toMatchObject({ subscriptionState: 'SUBSCRIPTION_STATE_IN_GRACE_PERIOD', linkedPurchaseToken: 'old' });
    expect(body.latestOrderId).toMatch(/\.\.0$/);
    expect(Date.parse(body.startTime)).toBe(Date.parse(expiresAt) - 2 * MINUTE_MS);
    const refunded = await issue({ purchaseToken, state: 'expired' });
    expect([refunded.state, minutesTo(refunded.expiresAt)]).toEqual(['expired', 0]);
  });

  test('keeps its end when it is canceled, unless the order names a length', async () => {
    const { purchaseToken, expiresAt } = await issue({ minutes: 10 });
    service.advance(4 * MINUTE_MS);
    expect(await issue({ purchaseToken, state: 'canceled' })).toMatchObject({ state: 'canceled', expiresAt });
    expect(minutesTo((await issue({ purchaseToken, state: 'canceled', minutes: 1 })).expiresAt)).toBe(1);
    service.advance(MINUTE_MS);
    expect(await issue({ purchaseToken, state: 'canceled' })).toMatchObject({ state: 'expired' });
  });

  test('that is pending starts when it is paid for, without a renewal', async () => {
    const { purchaseToken, ...reply } = await issue({ state: 'pending', minutes: 60 });
    expect(reply.expiresAt).toBeUndefined();
    expect((await read(purchaseToken)).body).not.toHaveProperty('startTime');
    service.advance(10 * MINUTE_MS);
    const paid = await issue({ purchaseToken, state: 'active', minutes: 2 });
    const { body } = await read(purchaseToken);
    expect([minutesTo(paid.expiresAt), Date.parse(paid.expiresAt) - Date.parse(body.startTime)]).toEqual([2, 2 * MINUTE_MS]);
    expect(body.latestOrderId).not.toContain('..');
  });

  test('is acknowledged with 204, again when repeated, and for good', async () => {
    const { purchaseToken } = await issue();
    for (const state of ['active', 'expired']) {
      const { status, text } = await acknowledge(`${purchaseToken}:acknowledge`);
      expect([status, text]).toEqual([204, '']);
      await issue({ purchaseToken, state });
      expect((await read(purchaseToken)).body.acknowledgementState).toBe('ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED');
    }
  });

  test.each<[what: string, order: object, ask: (token: string) => ReturnType<typeof read>, status: number, reason: string]>([
    [
      'an acknowledgement while it is pending',
      { state: 'pending' },
      (token) => acknowledge(`${token}:acknowledge`),
      400,
      'invalidPurchaseState',
    ],
    ['an acknowledgement after its end', { state: 'expired' }, (token) => acknowledge(`${token}:acknowledge`), 400, 'invalidPurchaseState'],
    ['that of another product', {}, (token) => acknowledge(`${token}:acknowledge`, 'gold'), 400, 'invalid'],
    ['another call', {}, (token) => acknowledge(`${token}:cancel`), 404, 'notFound'],
    ['a token of another app', {}, (token) => read(token, 'com.other.app'), 400, 'purchaseTokenDoesNotMatchPackageName'],
    ['an unknown token', {}, () => read(UNKNOWN), 404, 'purchaseTokenNotFound'],
    ['a token that is none', {}, () => read(`sandbox.${'%2F'.repeat(32)}`), 400, 'invalid'],
  ])("is refused in Google's format: %s", async (_, order, ask, status, reason) => {
    const reply = await ask((await issue(order)).purchaseToken);
    expect([reply.status, reply.body.error.code, reply.body.error.errors[0].reason]).toEqual([status, status, reason]);
  });

  test('is kept for 90 days, and answered with 410 once it has been expired for 60 days', async () => {
    const { purchaseToken } = await issue({ state: 'expired' });
    expect(await service.service.redis.ttl(`{sandbox:subscription:${purchaseToken}}`)).toBeGreaterThan(90 * 86_400);
    service.advance(60 * DAY_MS - MINUTE_MS);
    expect((await read(purchaseToken)).status).toBe(200);
    service.advance(MINUTE_MS);
    const { status, body } = await read(purchaseToken);
    expect([status, body.error.errors[0].reason]).toEqual([410, 'subscriptionPurchaseNoLongerAvailable']);
  });
});
