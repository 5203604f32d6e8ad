import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { subscriptionOf } from '../../../src/features/subscription/model.ts';
import { accountIdOf, accountKey } from '../../../src/server/caller.ts';
import { freshId, signIn, start, type TestService } from '../../harness.ts';

let service: TestService;
let redis: Redis;
beforeAll(async () => {
  service = await start();
  redis = new Redis(inject('redisSocket'));
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await redis.quit();
  await service[Symbol.asyncDispose]();
});

const NOBODY_SAYS = { ok: true, subscribed: false, state: 'none', source: 'none', verified: false };

const subscription = (installId: string) => service.get('/v1/subscription', { headers: { 'x-install-id': installId } });
const report = (installId: string, subscribed: boolean) => service.post('/v1/subscription/report', { installId, subscribed });

describe('subscription', () => {
  test('with nobody named, and for an install never seen, nobody is subscribed', async () => {
    expect((await service.get('/v1/subscription')).body).toEqual(NOBODY_SAYS);
    const installId = freshId();
    expect((await subscription(installId)).body).toEqual(NOBODY_SAYS);
    expect(await redis.exists(accountKey(accountIdOf(installId)))).toBe(0);
  });

  test('the install is named by the query or by the header; the query wins', async () => {
    const installId = freshId();
    await report(installId, true);
    expect((await service.get(`/v1/subscription?installId=${installId}`)).body.subscribed).toBe(true);
    expect((await subscription(installId)).body.subscribed).toBe(true);
    const both = await service.get(`/v1/subscription?installId=${freshId()}`, { headers: { 'x-install-id': installId } });
    expect(both.body).toEqual(NOBODY_SAYS);
  });

  test('an installId that is none is refused, in the query and in the header', async () => {
    for (const reply of [await service.get('/v1/subscription?installId=short'), await subscription('short')]) {
      expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'installId']);
    }
  });

  test('a session decides whose subscription it is, whatever installId also says', async () => {
    const installId = freshId();
    const other = freshId();
    const cookies = await signIn(service, installId);
    await report(installId, true);
    expect((await service.get(`/v1/subscription?installId=${other}`, { cookies })).body.subscribed).toBe(true);
    expect((await subscription(other)).body).toEqual(NOBODY_SAYS);
  });

  test('a signed-out session counts as none: then the installId decides, else nobody', async () => {
    const installId = freshId();
    const other = freshId();
    const cookies = await signIn(service, installId);
    await report(installId, true);
    // Signed out at another service, so that only Redis can tell this one.
    await using another = await start();
    await another.post('/v1/logout', {}, { cookies });
    expect((await service.get('/v1/subscription', { cookies })).body).toEqual(NOBODY_SAYS);
    expect((await service.get(`/v1/subscription?installId=${other}`, { cookies })).body).toEqual(NOBODY_SAYS);
    expect((await service.get(`/v1/subscription?installId=${installId}`, { cookies })).body.subscribed).toBe(true);
  });

  test('a report counts for 72 hours to the millisecond, by the clock of the server', async () => {
    const installId = freshId();
    const reportedAt = Date.parse('2031-05-01T12:00:00.000Z');
    const clock = vi.spyOn(Date, 'now').mockReturnValue(reportedAt);
    await report(installId, true);
    const standing = {
      ok: true,
      subscribed: true,
      state: 'active',
      source: 'report',
      verified: false,
      expiresAt: '2031-05-04T12:00:00.000Z',
    };
    expect((await subscription(installId)).body).toEqual(standing);
    clock.mockReturnValue(reportedAt + 259_199_999);
    expect((await subscription(installId)).body).toEqual(standing);
    clock.mockReturnValue(reportedAt + 259_200_000);
    expect((await subscription(installId)).body).toEqual(NOBODY_SAYS);
  });

  test("the store's word stands above a report, for and against", async () => {
    const installId = freshId();
    await report(installId, true);
    const expiresAt = service.now() + 3_600_000;
    const account = accountKey(accountIdOf(installId));
    await redis.hset(account, { storeState: 'on_hold', storeExpiresAt: expiresAt, storeProductId: 'gold', storeWillRenew: 1 });
    const held = {
      ok: true,
      subscribed: false,
      state: 'on_hold',
      source: 'store',
      verified: true,
      productId: 'gold',
      expiresAt: new Date(expiresAt).toISOString(),
      willRenew: true,
    };
    expect((await subscription(installId)).body).toEqual(held);

    await report(installId, false);
    await redis.hset(account, { storeState: 'active' });
    expect((await subscription(installId)).body).toEqual({ ...held, subscribed: true, state: 'active' });
  });

  test("the store's word is read whole where it names the state alone", async () => {
    const installId = freshId();
    await redis.hset(accountKey(accountIdOf(installId)), { createdAt: 1, storeState: 'pending' });
    expect((await subscription(installId)).body).toEqual({
      ok: true,
      subscribed: false,
      state: 'pending',
      source: 'store',
      verified: true,
    });
  });
});

describe('the word of the store', () => {
  const at = (state: 'active' | 'grace' | 'canceled' | 'on_hold' | 'paused' | 'expired' | 'pending', expiresAt?: number) => {
    const { subscribed, state: stated } = subscriptionOf({ store: { state, expiresAt } }, 1000);
    return [subscribed, stated];
  };

  test('subscribes while active, in grace or canceled, until the millisecond it expires', () => {
    expect(at('active', 1001)).toEqual([true, 'active']);
    expect(at('grace', 1001)).toEqual([true, 'grace']);
    expect(at('canceled', 1001)).toEqual([true, 'canceled']);
    expect(at('active', 1000)).toEqual([false, 'expired']);
    expect(at('grace', 1000)).toEqual([false, 'expired']);
    expect(at('canceled', 1000)).toEqual([false, 'expired']);
  });

  test('subscribes nobody on hold, paused, expired or pending, whatever the end it names', () => {
    expect(at('on_hold', 1001)).toEqual([false, 'on_hold']);
    expect(at('paused', 1001)).toEqual([false, 'paused']);
    expect(at('expired', 1001)).toEqual([false, 'expired']);
    expect(at('pending', 1001)).toEqual([false, 'pending']);
  });

  test('subscribes nobody where it names no end', () => {
    expect(at('active')).toEqual([false, 'expired']);
    expect(at('pending')).toEqual([false, 'pending']);
  });

  test('what has expired will not renew', () => {
    expect(subscriptionOf({ store: { state: 'active', expiresAt: 1001, willRenew: true } }, 1000).willRenew).toBe(true);
    expect(subscriptionOf({ store: { state: 'active', expiresAt: 1000, willRenew: true } }, 1000).willRenew).toBe(false);
    expect(subscriptionOf({ store: { state: 'canceled', expiresAt: 1001, willRenew: false } }, 1000).willRenew).toBe(false);
  });
});
