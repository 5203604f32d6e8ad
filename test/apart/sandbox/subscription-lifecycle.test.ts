import { expect, test } from 'vitest';
import { changeOf, notificationOf } from '../../../src/apart/sandbox/google/push-notification.ts';
import { subscriptionAt, type IssuableState, type IssuedSubscription } from '../../../src/apart/sandbox/google/subscription-lifecycle.ts';

/** Issued at 1000 s for 100 s, with a grace of 30 s. The start at 900 s must not matter. */
const issued = (state: IssuableState, renew: IssuedSubscription['renew'] = 'declined'): IssuedSubscription => ({
  packageName: 'dev.coinop.sandbox',
  productId: 'premium',
  state,
  issuedAt: 1_000_000,
  until: state === 'expired' ? 1_000_000 : 1_100_000,
  startedAt: 900_000,
  periodMs: 100_000,
  graceMs: 30_000,
  renew,
  orderId: 'GPA.1111-2222-3333-44444',
  renewals: 3,
});

/** State, end, renewal flag and number of renewals at a time in seconds. */
test.each([
  ['active', 'declined', 1099.999, 'active', 1100, true, 3],
  ['active', 'declined', 1100, 'grace', 1130, true, 3],
  ['active', 'declined', 1129.999, 'grace', 1130, true, 3],
  ['active', 'declined', 1130, 'expired', 1130, false, 3],
  ['active', 'paid', 1099.999, 'active', 1100, true, 3],
  ['active', 'paid', 1100, 'active', 1200, true, 4],
  ['active', 'paid', 2050, 'active', 2100, true, 13],
  ['grace', 'declined', 1099.999, 'grace', 1100, true, 3],
  ['grace', 'declined', 1100, 'expired', 1100, false, 3],
  ['grace', 'paid', 1100, 'active', 1200, true, 4],
  ['on_hold', 'declined', 1099.999, 'on_hold', 1000, true, 3],
  ['on_hold', 'declined', 1100, 'expired', 1000, false, 3],
  ['on_hold', 'paid', 1250, 'active', 1300, true, 5],
  ['paused', 'declined', 1099.999, 'paused', 1000, true, 3],
  ['paused', 'declined', 1100, 'expired', 1000, false, 3],
  ['paused', 'paid', 1100, 'active', 1200, true, 4],
  ['canceled', 'declined', 1099.999, 'canceled', 1100, false, 3],
  ['canceled', 'paid', 1100, 'expired', 1100, false, 3],
  ['expired', 'declined', 1000, 'expired', 1000, false, 3],
  ['expired', 'paid', 5000, 'expired', 1000, false, 3],
  ['pending', 'declined', 1099.999, 'pending', undefined, true, 3],
  ['pending', 'declined', 1100, 'pending_canceled', undefined, false, 3],
  ['pending', 'paid', 1100, 'active', 1200, true, 3],
  ['pending', 'paid', 1200, 'active', 1300, true, 4],
] as const)('a subscription issued as %s, its payment %s, is at %d s %s', (chosen, renew, seconds, state, ends, renewing, renewals) => {
  const end = ends === undefined ? {} : { expiresAt: ends * 1000 };
  expect(subscriptionAt(issued(chosen, renew), seconds * 1000)).toEqual({ state, ...end, renewing, renewals });
});

test('a grace period of 0 is skipped', () => {
  const without = { ...issued('active'), graceMs: 0 };
  expect(subscriptionAt(without, 1_100_000)).toEqual({ state: 'expired', expiresAt: 1_100_000, renewing: false, renewals: 3 });
});

test.each<[state: IssuableState, before: IssuableState | undefined, type: number]>([
  ['active', undefined, 4],
  ['active', 'pending', 4],
  ['active', 'active', 2],
  ['active', 'on_hold', 1],
  ['active', 'canceled', 7],
  ['grace', 'active', 6],
  ['on_hold', 'active', 5],
  ['paused', 'active', 10],
  ['canceled', 'active', 3],
  ['expired', 'active', 12],
  ['expired', undefined, 13],
])('a notification of state %s after state %s has notificationType %i', (state, before, type) => {
  const change = changeOf(issued(state), before && issued(before), 1_000_000);
  expect(notificationOf(issued(state), 't', change)).toMatchObject({ subscriptionNotification: { notificationType: type } });
});
