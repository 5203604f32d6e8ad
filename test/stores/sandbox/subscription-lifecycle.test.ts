import { describe, expect, test } from 'vitest';
import { subscriptionAt, type IssuedSubscription, type SubscriptionNow } from '../../../src/stores/sandbox/subscription-lifecycle.ts';

/** Issued at 1000 s for 100 s, with a grace of 30 s. The start at 900 s must not matter. */
const issued = (state: IssuedSubscription['state'], renew: IssuedSubscription['renew']): IssuedSubscription => ({
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

type Expected = readonly [
  seconds: number,
  state: SubscriptionNow['state'],
  expiresAt: number | undefined,
  renewing: boolean,
  renewals: number,
];

/** State, end, renewal flag and number of renewals at a time in seconds. */
const table: Record<string, readonly Expected[]> = {
  'active declined': [
    [1000, 'active', 1100, true, 3],
    [1099.999, 'active', 1100, true, 3],
    [1100, 'grace', 1130, true, 3],
    [1129.999, 'grace', 1130, true, 3],
    [1130, 'expired', 1130, false, 3],
    [99_999, 'expired', 1130, false, 3],
  ],
  'active paid': [
    [1099.999, 'active', 1100, true, 3],
    [1100, 'active', 1200, true, 4],
    [1199.999, 'active', 1200, true, 4],
    [1200, 'active', 1300, true, 5],
    [2050, 'active', 2100, true, 13],
  ],
  'grace declined': [
    [1000, 'grace', 1100, true, 3],
    [1099.999, 'grace', 1100, true, 3],
    [1100, 'expired', 1100, false, 3],
  ],
  'grace paid': [
    [1099.999, 'grace', 1100, true, 3],
    [1100, 'active', 1200, true, 4],
    [1250, 'active', 1300, true, 5],
  ],
  'on_hold declined': [
    [1000, 'on_hold', 1000, true, 3],
    [1099.999, 'on_hold', 1000, true, 3],
    [1100, 'expired', 1000, false, 3],
  ],
  'on_hold paid': [
    [1099.999, 'on_hold', 1000, true, 3],
    [1100, 'active', 1200, true, 4],
    [1200, 'active', 1300, true, 5],
  ],
  'paused declined': [
    [1000, 'paused', 1000, true, 3],
    [1099.999, 'paused', 1000, true, 3],
    [1100, 'expired', 1000, false, 3],
  ],
  'paused paid': [
    [1099.999, 'paused', 1000, true, 3],
    [1100, 'active', 1200, true, 4],
  ],
  'canceled declined': [
    [1000, 'canceled', 1100, false, 3],
    [1099.999, 'canceled', 1100, false, 3],
    [1100, 'expired', 1100, false, 3],
  ],
  'canceled paid': [
    [1099.999, 'canceled', 1100, false, 3],
    [1100, 'expired', 1100, false, 3],
  ],
  'expired declined': [
    [1000, 'expired', 1000, false, 3],
    [5000, 'expired', 1000, false, 3],
  ],
  'expired paid': [
    [1000, 'expired', 1000, false, 3],
    [5000, 'expired', 1000, false, 3],
  ],
  'pending declined': [
    [1000, 'pending', undefined, true, 3],
    [1099.999, 'pending', undefined, true, 3],
    [1100, 'pending_canceled', undefined, false, 3],
    [99_999, 'pending_canceled', undefined, false, 3],
  ],
  'pending paid': [
    [1099.999, 'pending', undefined, true, 3],
    [1100, 'active', 1200, true, 3],
    [1200, 'active', 1300, true, 4],
  ],
};

describe('the life of a subscription', () => {
  const cases = Object.entries(table).flatMap(([name, rows]) => rows.map((row) => ({ name, row })));

  test.each(cases)('issued as "$name" it follows the table: $row', ({ name, row: [seconds, state, expiresAt, renewing, renewals] }) => {
    const [chosen, renew] = name.split(' ') as [IssuedSubscription['state'], IssuedSubscription['renew']];
    expect(subscriptionAt(issued(chosen, renew), seconds * 1000)).toEqual({
      state,
      ...(expiresAt === undefined ? {} : { expiresAt: expiresAt * 1000 }),
      renewing,
      renewals,
    });
  });

  test('the table holds every state with both outcomes of the payment', () => {
    const states = ['active', 'grace', 'on_hold', 'paused', 'canceled', 'expired', 'pending'];
    expect(Object.keys(table).toSorted()).toEqual(states.flatMap((state) => [`${state} declined`, `${state} paid`]).toSorted());
  });

  test('a grace period of 0 is skipped', () => {
    const without = { ...issued('active', 'declined'), graceMs: 0 };
    expect(subscriptionAt(without, 1_100_000)).toEqual({ state: 'expired', expiresAt: 1_100_000, renewing: false, renewals: 3 });
  });
});
