import { describe, expect, test } from 'vitest';
import { subscriptionOf } from '../../../../src/features/purchases/subscription/subscription-state.ts';
import type { StoreState, StoreSubscription } from '../../../../src/stores/store.ts';
import { accountIdOf } from '../../../../src/accounts/ids.ts';
import { accountKey } from '../../../../src/accounts/account-keys.ts';
import { forFile, freshId, start } from '../../../harness.ts';

const service = await forFile(start());
const { redis } = service.service;

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

const RENEWS = { willRenew: true, checkedAt: NOW - DAY - 1 };

/**
 * `endsIn`: milliseconds from now to the end. `more`: the renewal and the last check. `subscribed` and `stated`: the expected answer and its
 * state.
 */
test.each<[state: StoreState, endsIn: number | undefined, more: Partial<StoreSubscription>, subscribed: boolean, stated: string]>([
  // Until the millisecond of its end.
  ['active', 1, {}, true, 'active'],
  ['grace', 1, {}, true, 'grace'],
  ['canceled', 1, {}, true, 'canceled'],
  ['active', 0, {}, false, 'expired'],
  ['grace', 0, {}, false, 'expired'],
  ['canceled', 0, {}, false, 'expired'],
  // Not even before its end.
  ['on_hold', 1, {}, false, 'on_hold'],
  ['paused', 1, {}, false, 'paused'],
  ['expired', 1, {}, false, 'expired'],
  ['pending', 1, {}, false, 'pending'],
  ['active', undefined, {}, false, 'expired'],
  ['pending', undefined, {}, false, 'pending'],
  // For 24 more hours, if it renews and has not been checked since its end.
  ['active', -HOUR, RENEWS, true, 'active'],
  ['grace', 1 - DAY, RENEWS, true, 'grace'],
  ['active', -DAY, RENEWS, false, 'expired'],
  ['active', -HOUR, { ...RENEWS, checkedAt: NOW - HOUR - 1 }, true, 'active'],
  ['active', -HOUR, { ...RENEWS, checkedAt: NOW - HOUR }, false, 'expired'],
  ['active', -HOUR, { ...RENEWS, willRenew: false }, false, 'expired'],
  ['active', -HOUR, { ...RENEWS, willRenew: undefined }, false, 'expired'],
  ['canceled', -HOUR, RENEWS, false, 'expired'],
  ['on_hold', -HOUR, RENEWS, false, 'on_hold'],
  ['expired', -HOUR, RENEWS, false, 'expired'],
])('a purchase that is %s, ends in %d ms and of which is known %j subscribes: %s, as %s', (state, endsIn, more, subscribed, stated) => {
  const said = say(bought(state, endsIn === undefined ? undefined : NOW + endsIn, more));
  expect([said.subscribed, said.state]).toEqual([subscribed, stated]);
});

test('a purchase shows its own end, or the end of the day that its renewal has, and that it does not renew after its end', () => {
  const shown = (endsIn: number, more: Partial<StoreSubscription> = RENEWS) => {
    const { expiresAt, willRenew } = say(bought('active', NOW + endsIn, more));
    return [expiresAt, willRenew];
  };
  expect(shown(1)).toEqual(['2031-05-01T12:00:00.001Z', true]);
  expect(shown(-HOUR)).toEqual(['2031-05-02T11:00:00.000Z', true]);
  expect(shown(-DAY)).toEqual(['2031-04-30T12:00:00.000Z', false]);
  expect(shown(1, { willRenew: false })[1]).toBe(false);
});

describe('of several purchases the account shows', () => {
  const named = (productId: string, state: StoreState, expiresAt?: number) => bought(state, expiresAt, { productId });
  test.each<[what: string, ...inOrder: StoreSubscription[]]>([
    ...(['on_hold', 'paused', 'pending', 'expired'] as const).map((state): [string, ...StoreSubscription[]] => [
      `one in grace before one that is ${state}`,
      named('good', 'grace', NOW + 1),
      named('bad', state, NOW + DAY),
    ]),
    ['the one that has not ended', named('good', 'canceled', NOW + 1), named('over', 'active', NOW)],
    ['the one that lasts longest', named('long', 'canceled', NOW + 2), named('short', 'active', NOW + 1)],
    ['the one that lasts longest in grace', named('long', 'grace', NOW + 2), named('short', 'grace', NOW + 1)],
    ['a shorter one before one in grace', named('paid', 'canceled', NOW + 1), named('failed', 'grace', NOW + DAY)],
    [
      'without access those that the user can act on first',
      named('a', 'on_hold', NOW - 2),
      named('b', 'paused', NOW - 1),
      named('c', 'pending'),
      named('d', 'expired', NOW - 1),
    ],
    ['without access the one that ended last', named('last', 'canceled', NOW - 1), named('first', 'expired', NOW - DAY)],
  ])('%s', (_, ...inOrder) => {
    for (const [place, first] of inOrder.entries())
      for (const second of inOrder.slice(place + 1))
        expect([say(first, second).productId, say(second, first).productId]).toEqual([first.productId, first.productId]);
  });
});
