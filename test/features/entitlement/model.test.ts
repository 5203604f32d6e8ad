import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { entitlementOf, nextChangeOf, type EntitlementFacts } from '../../../src/features/entitlement/model.ts';
import type { StoreState, StoreSubscription } from '../../../src/stores/store.ts';

/** Which purchases give access, and until when, is tested in `subscription.test.ts`, and gifts in `test/operator/given.test.ts`. */

const now = Date.parse('2031-05-01T12:00:00.000Z');
const hour = 3_600_000;
const day = 24 * hour;

const bought = (state: StoreState, expiresAt?: number, willRenew?: boolean): StoreSubscription => ({
  state,
  expiresAt,
  willRenew,
  checkedAt: now - 3 * day,
  productId: 'gold',
});

const active = { subscribed: true, at: now - 72 * hour + 1 };
const reports: EntitlementFacts['report'][] = [undefined, active, { ...active, subscribed: false }, { ...active, at: now - 72 * hour }];
/** No trial, one that is active, and one that is over. */
const trialStarts = [undefined, now - 7 * day + 1, now - 7 * day];

describe('the state without a trial, with an active one and with one that is over', () => {
  const statesOf = (facts: EntitlementFacts) => {
    const told = trialStarts.map((trialStartedAt) => entitlementOf({ ...facts, trialStartedAt }, now, 7));
    for (const { state, access } of told) expect(access).toBe(['subscribed', 'grace', 'trial'].includes(state));
    return told.map(({ state }) => state).join(' ');
  };

  test.each([
    ['active', bought('active', now + 1), 'subscribed subscribed subscribed'],
    ['active, and its renewal awaited', bought('active', now - hour, true), 'subscribed subscribed subscribed'],
    ['active, and over', bought('active', now), 'expired trial expired'],
    ['in grace', bought('grace', now + 1), 'grace grace grace'],
    ['in grace, and over', bought('grace', now), 'expired trial expired'],
    ['canceled', bought('canceled', now + 1), 'subscribed subscribed subscribed'],
    ['canceled, and over', bought('canceled', now), 'expired trial expired'],
    ['on hold', bought('on_hold', now + 1, true), 'expired trial expired'],
    ['paused', bought('paused', now + 1, true), 'expired trial expired'],
    ['expired', bought('expired', now - 1), 'expired trial expired'],
    ['pending', bought('pending'), 'none trial expired'],
    ['canceled before it was paid for', bought('expired'), 'none trial expired'],
  ])('of a purchase that is %s does not depend on reports', (_, purchase, states) => {
    for (const report of reports) expect(statesOf({ purchases: [purchase], report })).toBe(states);
  });

  test('follows a report of the last 72 hours where there is no purchase', () => {
    const states = ['none trial expired', 'subscribed subscribed subscribed', 'none trial expired', 'none trial expired'];
    expect(reports.map((report) => statesOf({ report }))).toEqual(states);
  });
});

const trialStartedAt = now - day;
const overAt = now - 8 * day;
test.each<[what: string, facts: EntitlementFacts, state: string, expiresAt: number | undefined]>([
  [
    'the end of a purchase before that of the trial',
    { trialStartedAt, purchases: [bought('active', now + hour)] },
    'subscribed',
    now + hour,
  ],
  ['the end of a grace period', { trialStartedAt, purchases: [bought('grace', now + hour)] }, 'grace', now + hour],
  ['a day to renew', { trialStartedAt, purchases: [bought('active', now - hour, true)] }, 'subscribed', now + 23 * hour],
  ['the end of a report', { trialStartedAt, report: { subscribed: true, at: now - 70 * hour } }, 'subscribed', now + 2 * hour],
  ['the end of the trial', { trialStartedAt, purchases: [bought('expired', now - hour)] }, 'trial', now + 6 * day],
  ['the purchase that gives access', { purchases: [bought('expired', now - day), bought('active', now + 1)] }, 'subscribed', now + 1],
  ['the one that is not in grace', { purchases: [bought('grace', now + day), bought('canceled', now + 1)] }, 'subscribed', now + 1],
  ['the one that was paid for', { purchases: [bought('pending'), bought('expired', now - day)] }, 'expired', now - day],
  ['the later of two ends', { purchases: [bought('on_hold', now - hour), bought('expired', now - day)] }, 'expired', now - hour],
  [
    'the end of a purchase after that of the trial',
    { trialStartedAt: overAt, purchases: [bought('expired', now - hour)] },
    'expired',
    now - hour,
  ],
  [
    'the end of a trial after that of a purchase',
    { trialStartedAt: overAt, purchases: [bought('expired', now - 9 * day)] },
    'expired',
    now - day,
  ],
  ['no end in the future without access', { purchases: [bought('paused', now + hour)] }, 'expired', undefined],
  ['nothing without a fact', {}, 'none', undefined],
])('expiresAt is %s', (_, facts, state, expiresAt) => {
  const end = expiresAt === undefined ? undefined : new Date(expiresAt).toISOString();
  const told = entitlementOf(facts, now, 7);
  expect([told.state, told.expiresAt]).toEqual([state, end]);
});

test('the entitlement changes by the clock exactly when nextChangeOf says', () => {
  /** Whole hours, so that the ends of several facts often coincide. */
  const time = fc.integer({ min: -200, max: 200 }).map((hours) => now + hours * hour);
  const purchase = fc.record({
    state: fc.constantFrom<StoreState>('active', 'grace', 'canceled', 'on_hold', 'expired', 'pending'),
    expiresAt: fc.option(time, { nil: undefined }),
    willRenew: fc.option(fc.boolean(), { nil: undefined }),
    checkedAt: time,
    productId: fc.constant('gold'),
  });
  const facts = fc.record(
    {
      purchases: fc.array(purchase, { maxLength: 3 }),
      report: fc.record({ subscribed: fc.boolean(), at: time }),
      trialStartedAt: time,
      giftEndsAt: time,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(facts, fc.integer({ min: 0, max: 99 }), (given, percent) => {
      const told = (at: number): string => JSON.stringify(entitlementOf(given, at, 7));
      const next = nextChangeOf(given, now, 7);
      const isNever = next === Infinity;
      const between = now + Math.floor(((isNever ? 1000 * day : next - now - 1) * percent) / 100);
      expect(told(between)).toBe(told(now));
      if (!isNever) expect(told(next)).not.toBe(told(now));
    }),
    { numRuns: 2000 },
  );
});
