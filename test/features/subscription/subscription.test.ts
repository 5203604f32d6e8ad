import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { purchasesOf, subscriptionOf } from '../../../src/features/subscription/model.ts';
import type { StoreState, StoreSubscription } from '../../../src/features/subscription/purchase-expiry.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey } from '../../../src/accounts/keys.ts';
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
    await redis.hset(account, { purchases: `AAAAAAAAAAAAAAAAAAAAAA on_hold ${expiresAt} 1 ${service.now()} gold` });
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
    await redis.hset(account, { purchases: `AAAAAAAAAAAAAAAAAAAAAA active ${expiresAt} 1 ${service.now()} gold` });
    expect((await subscription(installId)).body).toEqual({ ...held, subscribed: true, state: 'active' });
  });

  test("the store's word is read whole where nothing was paid yet", async () => {
    const installId = freshId();
    await redis.hset(accountKey(accountIdOf(installId)), {
      createdAt: 1,
      purchases: `AAAAAAAAAAAAAAAAAAAAAA pending - - ${service.now()} gold`,
    });
    expect((await subscription(installId)).body).toEqual({
      ok: true,
      subscribed: false,
      state: 'pending',
      source: 'store',
      verified: true,
      productId: 'gold',
    });
  });
});

const NOW = Date.parse('2031-05-01T12:00:00.000Z');
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const bought = (state: StoreState, expiresAt?: number, more: Partial<StoreSubscription> = {}): StoreSubscription => ({
  state,
  expiresAt,
  productId: 'gold',
  willRenew: undefined,
  checkedAt: NOW - DAY,
  ...more,
});
const say = (...purchases: StoreSubscription[]) => subscriptionOf({ purchases }, NOW);

describe('the word of the store', () => {
  const at = (state: StoreState, expiresAt?: number) => {
    const { subscribed, state: stated } = say(bought(state, expiresAt));
    return [subscribed, stated];
  };

  test('subscribes while active, in grace or canceled, until the millisecond it expires', () => {
    expect(at('active', NOW + 1)).toEqual([true, 'active']);
    expect(at('grace', NOW + 1)).toEqual([true, 'grace']);
    expect(at('canceled', NOW + 1)).toEqual([true, 'canceled']);
    expect(at('active', NOW)).toEqual([false, 'expired']);
    expect(at('grace', NOW)).toEqual([false, 'expired']);
    expect(at('canceled', NOW)).toEqual([false, 'expired']);
  });

  test('subscribes nobody on hold, paused, expired or pending, whatever the end it names', () => {
    expect(at('on_hold', NOW + 1)).toEqual([false, 'on_hold']);
    expect(at('paused', NOW + 1)).toEqual([false, 'paused']);
    expect(at('expired', NOW + 1)).toEqual([false, 'expired']);
    expect(at('pending', NOW + 1)).toEqual([false, 'pending']);
  });

  test('subscribes nobody where it names no end', () => {
    expect(at('active')).toEqual([false, 'expired']);
    expect(at('pending')).toEqual([false, 'pending']);
  });

  test('what has expired will not renew', () => {
    expect(say(bought('active', NOW + 1, { willRenew: true })).willRenew).toBe(true);
    expect(say(bought('active', NOW - DAY, { willRenew: true })).willRenew).toBe(false);
    expect(say(bought('canceled', NOW + 1, { willRenew: false })).willRenew).toBe(false);
  });
});

describe('past its end, and not checked since', () => {
  const renewing = { willRenew: true, checkedAt: NOW - 2 * HOUR };

  test('one that was to renew counts for 24 hours more', () => {
    for (const state of ['active', 'grace'] as const) {
      expect(say(bought(state, NOW - HOUR, renewing))).toMatchObject({
        subscribed: true,
        state,
        willRenew: true,
        expiresAt: '2031-05-02T11:00:00.000Z',
      });
      const checkedAt = NOW - DAY - 1;
      expect(say(bought(state, NOW - DAY + 1, { willRenew: true, checkedAt })).subscribed).toBe(true);
      expect(say(bought(state, NOW - DAY, { willRenew: true, checkedAt }))).toMatchObject({
        subscribed: false,
        state: 'expired',
        expiresAt: '2031-04-30T12:00:00.000Z',
      });
    }
  });

  test('not so one that was checked since, or was not to renew', () => {
    expect(say(bought('active', NOW - HOUR, { willRenew: true, checkedAt: NOW - HOUR })).subscribed).toBe(false);
    expect(say(bought('active', NOW - HOUR, { willRenew: true, checkedAt: NOW - HOUR - 1 })).subscribed).toBe(true);
    expect(say(bought('active', NOW - HOUR, { ...renewing, willRenew: false })).subscribed).toBe(false);
    expect(say(bought('active', NOW - HOUR, { ...renewing, willRenew: undefined })).subscribed).toBe(false);
    expect(say(bought('canceled', NOW - HOUR, renewing)).subscribed).toBe(false);
    expect(say(bought('on_hold', NOW - HOUR, renewing)).subscribed).toBe(false);
    expect(say(bought('expired', NOW - HOUR, renewing)).subscribed).toBe(false);
  });

  test('before its end it ends when it ends', () => {
    expect(say(bought('active', NOW + 1, renewing)).expiresAt).toBe('2031-05-01T12:00:00.001Z');
  });
});

describe('of several purchases speaks', () => {
  const spokesman = (...purchases: StoreSubscription[]) => {
    const forth = say(...purchases).productId;
    expect(say(...purchases.toReversed()).productId).toBe(forth);
    return forth;
  };
  const named = (productId: string, state: StoreState, expiresAt?: number) => bought(state, expiresAt, { productId });

  test('one that gives access', () => {
    for (const state of ['on_hold', 'paused', 'pending', 'expired'] as const) {
      expect(spokesman(named('good', 'grace', NOW + 1), named('bad', state, NOW + DAY))).toBe('good');
    }
    expect(spokesman(named('over', 'active', NOW), named('good', 'canceled', NOW + 1))).toBe('good');
  });

  test('of those that do the one that lasts longest, but one in grace last', () => {
    expect(spokesman(named('short', 'active', NOW + 1), named('long', 'canceled', NOW + 2))).toBe('long');
    expect(spokesman(named('short', 'grace', NOW + 1), named('long', 'grace', NOW + 2))).toBe('long');
    expect(spokesman(named('paid', 'canceled', NOW + 1), named('failed', 'grace', NOW + DAY))).toBe('paid');
  });

  test('of those that do not the one to do something about, then the one that ended last', () => {
    const inOrder = [named('a', 'on_hold', NOW - 2), named('b', 'paused', NOW - 1), named('c', 'pending'), named('d', 'expired', NOW - 1)];
    for (const [place, first] of inOrder.entries()) {
      for (const second of inOrder.slice(place + 1)) expect(spokesman(first, second)).toBe(first.productId);
    }
    expect(spokesman(named('first', 'expired', NOW - DAY), named('last', 'canceled', NOW - 1))).toBe('last');
  });
});

test('a line for each purchase', () => {
  const lines =
    'AAAAAAAAAAAAAAAAAAAAAA active 1935500400000 1 1935400000000 gold\nBBBBBBBBBBBBBBBBBBBBBB pending - - 1935400000001 gold.v2';
  expect(purchasesOf(lines)).toEqual([
    { state: 'active', expiresAt: 1935500400000, willRenew: true, checkedAt: 1935400000000, productId: 'gold' },
    { state: 'pending', expiresAt: undefined, willRenew: undefined, checkedAt: 1935400000001, productId: 'gold.v2' },
  ]);
  expect(purchasesOf('')).toEqual([]);
});
