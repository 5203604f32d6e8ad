import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { purchasesOf, subscriptionOf } from '../../../src/features/subscription/model.ts';
import type { StoreState, StoreSubscription } from '../../../src/stores/store.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey } from '../../../src/accounts/account-keys.ts';
import { sharedClient, freshId, start, type TestService } from '../../harness.ts';

let service: TestService;
let redis: Redis;
beforeAll(async () => {
  service = await start();
  redis = sharedClient();
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await redis.quit();
  await service[Symbol.asyncDispose]();
});

const NO_FACTS = { ok: true, subscribed: false, state: 'none', source: 'none', verified: false };

const subscription = (installId: string) => service.get('/v1/subscription', { headers: { 'x-install-id': installId } });
const report = (installId: string, subscribed: boolean) => service.post('/v1/subscription/report', { installId, subscribed });

describe('GET /v1/subscription', () => {
  test('answers subscribed: false without a caller and for an unknown install, and creates no account', async () => {
    expect((await service.get('/v1/subscription')).body).toEqual(NO_FACTS);
    const installId = freshId();
    expect((await subscription(installId)).body).toEqual(NO_FACTS);
    expect(await redis.exists(accountKey(accountIdOf(installId)))).toBe(0);
  });

  test("a report counts for exactly 72 hours on the server's clock", async () => {
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
    expect((await subscription(installId)).body).toEqual(NO_FACTS);
  });

  test('a purchase outranks a report, whichever of the two subscribes', async () => {
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

  test('a pending purchase is shown without expiresAt and willRenew', async () => {
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

describe('subscriptionOf with one purchase', () => {
  const at = (state: StoreState, expiresAt?: number) => {
    const { subscribed, state: stated } = say(bought(state, expiresAt));
    return [subscribed, stated];
  };

  test('subscribes while it is active, in grace or canceled, until the millisecond of its end', () => {
    expect(at('active', NOW + 1)).toEqual([true, 'active']);
    expect(at('grace', NOW + 1)).toEqual([true, 'grace']);
    expect(at('canceled', NOW + 1)).toEqual([true, 'canceled']);
    expect(at('active', NOW)).toEqual([false, 'expired']);
    expect(at('grace', NOW)).toEqual([false, 'expired']);
    expect(at('canceled', NOW)).toEqual([false, 'expired']);
  });

  test('does not subscribe while it is on hold, paused, expired or pending, even before its end', () => {
    expect(at('on_hold', NOW + 1)).toEqual([false, 'on_hold']);
    expect(at('paused', NOW + 1)).toEqual([false, 'paused']);
    expect(at('expired', NOW + 1)).toEqual([false, 'expired']);
    expect(at('pending', NOW + 1)).toEqual([false, 'pending']);
  });

  test('does not subscribe without an end', () => {
    expect(at('active')).toEqual([false, 'expired']);
    expect(at('pending')).toEqual([false, 'pending']);
  });

  test('has willRenew false after its end', () => {
    expect(say(bought('active', NOW + 1, { willRenew: true })).willRenew).toBe(true);
    expect(say(bought('active', NOW - DAY, { willRenew: true })).willRenew).toBe(false);
    expect(say(bought('canceled', NOW + 1, { willRenew: false })).willRenew).toBe(false);
  });
});

describe('subscriptionOf with a purchase past its end and not checked since', () => {
  const renewing = { willRenew: true, checkedAt: NOW - 2 * HOUR };

  test('subscribes for 24 more hours when it renews', () => {
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

  test('does not subscribe when it was checked since or does not renew', () => {
    expect(say(bought('active', NOW - HOUR, { willRenew: true, checkedAt: NOW - HOUR })).subscribed).toBe(false);
    expect(say(bought('active', NOW - HOUR, { willRenew: true, checkedAt: NOW - HOUR - 1 })).subscribed).toBe(true);
    expect(say(bought('active', NOW - HOUR, { ...renewing, willRenew: false })).subscribed).toBe(false);
    expect(say(bought('active', NOW - HOUR, { ...renewing, willRenew: undefined })).subscribed).toBe(false);
    expect(say(bought('canceled', NOW - HOUR, renewing)).subscribed).toBe(false);
    expect(say(bought('on_hold', NOW - HOUR, renewing)).subscribed).toBe(false);
    expect(say(bought('expired', NOW - HOUR, renewing)).subscribed).toBe(false);
  });

  test('shows its own end before that end', () => {
    expect(say(bought('active', NOW + 1, renewing)).expiresAt).toBe('2031-05-01T12:00:00.001Z');
  });
});

describe('subscriptionOf with several purchases', () => {
  const shown = (...purchases: StoreSubscription[]) => {
    const forth = say(...purchases).productId;
    expect(say(...purchases.toReversed()).productId).toBe(forth);
    return forth;
  };
  const named = (productId: string, state: StoreState, expiresAt?: number) => bought(state, expiresAt, { productId });

  test('shows one that gives access', () => {
    for (const state of ['on_hold', 'paused', 'pending', 'expired'] as const) {
      expect(shown(named('good', 'grace', NOW + 1), named('bad', state, NOW + DAY))).toBe('good');
    }
    expect(shown(named('over', 'active', NOW), named('good', 'canceled', NOW + 1))).toBe('good');
  });

  test('shows the one that lasts longest, and one in grace only when no other gives access', () => {
    expect(shown(named('short', 'active', NOW + 1), named('long', 'canceled', NOW + 2))).toBe('long');
    expect(shown(named('short', 'grace', NOW + 1), named('long', 'grace', NOW + 2))).toBe('long');
    expect(shown(named('paid', 'canceled', NOW + 1), named('failed', 'grace', NOW + DAY))).toBe('paid');
  });

  test('shows, without access, the one that the user can act on, then the one that ended last', () => {
    const inOrder = [named('a', 'on_hold', NOW - 2), named('b', 'paused', NOW - 1), named('c', 'pending'), named('d', 'expired', NOW - 1)];
    for (const [place, first] of inOrder.entries()) {
      for (const second of inOrder.slice(place + 1)) expect(shown(first, second)).toBe(first.productId);
    }
    expect(shown(named('first', 'expired', NOW - DAY), named('last', 'canceled', NOW - 1))).toBe('last');
  });
});

test('purchasesOf reads one purchase from each line', () => {
  const lines =
    'AAAAAAAAAAAAAAAAAAAAAA active 1935500400000 1 1935400000000 gold\nBBBBBBBBBBBBBBBBBBBBBB pending - - 1935400000001 gold.v2';
  expect(purchasesOf(lines)).toEqual([
    { state: 'active', expiresAt: 1935500400000, willRenew: true, checkedAt: 1935400000000, productId: 'gold' },
    { state: 'pending', expiresAt: undefined, willRenew: undefined, checkedAt: 1935400000001, productId: 'gold.v2' },
  ]);
  expect(purchasesOf('')).toEqual([]);
});
