import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { explainEntitlement } from '../../../src/features/entitlement/explain.ts';
import { entitlementOf, type EntitlementFacts } from '../../../src/features/entitlement/model.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const explain = (facts: EntitlementFacts, reports: 'accept' | 'ignore' = 'accept') =>
  explainEntitlement(facts, { now: NOW, trialDays: 7, reports }).because;

const purchase = { productId: 'premium', willRenew: true, checkedAt: NOW - HOUR };

describe('explainEntitlement', () => {
  test('says of a purchase what the app store answered, and until when it gives access', () => {
    expect(explain({ purchases: [{ ...purchase, state: 'active', expiresAt: NOW + DAY }] })).toEqual([
      'The purchase of premium: the app store answered active at 2026-11-22 11:00 UTC, paid until 2026-11-23 12:00 UTC. It gives access until then.',
      'No trial is linked to the account.',
      'So it is subscribed, by a purchase, and has access until 2026-11-23 12:00 UTC.',
    ]);
  });

  test('says that a renewal is awaited', () => {
    expect(explain({ purchases: [{ ...purchase, checkedAt: NOW - DAY, state: 'active', expiresAt: NOW - HOUR }] })[0]).toBe(
      'The purchase of premium: the app store answered active at 2026-11-21 12:00 UTC, paid until 2026-11-22 11:00 UTC. ' +
        'The renewal is awaited: it gives access until 2026-11-23 11:00 UTC.',
    );
  });

  test.each([
    ['on_hold', undefined, 'a payment failed, and the user has to mend it in the app store'],
    ['paused', undefined, 'the user paused it in the app store'],
    ['pending', undefined, 'its first payment is pending'],
    ['expired', NOW - DAY, 'it has ended'],
    ['canceled', NOW - DAY, 'it was cancelled, and the time that is paid for has ended'],
  ] as const)('says why a purchase that is %s gives no access', (state, expiresAt, why) => {
    expect(explain({ purchases: [{ ...purchase, state, expiresAt }] })[0]).toContain(`It gives no access: ${why}.`);
  });

  test('says whether a report counts, and why not', () => {
    const report = { subscribed: true, at: NOW - HOUR };
    expect(explain({ report })).toContain(
      'The app reported at 2026-11-22 11:00 UTC that the user is subscribed. Nobody verified it, and it counts until 2026-11-25 11:00 UTC.',
    );
    expect(explain({ report }).at(-1)).toBe('So it is subscribed, by a report, and has access until 2026-11-25 11:00 UTC.');
    expect(explain({ report }, 'ignore').join(' ')).toContain('It does not count: SUBSCRIPTION_REPORTS=ignore.');
    expect(explain({ report }, 'ignore').at(-1)).toBe(
      'So its state is none: it has no access, and a purchase or a trial never gave it any.',
    );
    expect(explain({ report: { ...report, at: NOW - 4 * DAY } }).join(' ')).toContain('It counted until 2026-11-21 12:00 UTC.');
    const overridden = explain({ report, purchases: [{ ...purchase, state: 'expired', expiresAt: NOW - DAY }] });
    expect(overridden.join(' ')).toContain("It does not count: the app store's answer comes before a report.");
    expect(overridden.at(-1)).toBe('So it is expired: it had access, and has none now. The last access ended at 2026-11-21 12:00 UTC.');
  });

  test('has the entitlement that the endpoint answers, and ends with its state, whatever the facts', () => {
    const time = fc.integer({ min: -30, max: 30 }).map((days) => NOW + days * DAY);
    const facts = fc.record(
      {
        purchases: fc.array(
          fc.record({
            productId: fc.string(),
            state: fc.constantFrom('active', 'grace', 'on_hold', 'paused', 'canceled', 'expired', 'pending'),
            expiresAt: fc.option(time, { nil: undefined }),
            willRenew: fc.option(fc.boolean(), { nil: undefined }),
            checkedAt: time,
          }),
          { maxLength: 3 },
        ),
        report: fc.record({ subscribed: fc.boolean(), at: time }),
        trialStartedAt: time,
      },
      { requiredKeys: [] },
    );
    const endings = {
      subscribed: 'is subscribed',
      grace: 'is in grace',
      trial: 'is on trial',
      expired: 'is expired',
      none: 'state is none',
    };
    fc.assert(
      fc.property(facts as fc.Arbitrary<EntitlementFacts>, fc.constantFrom('accept', 'ignore'), (given, reports) => {
        const { entitlement, because } = explainEntitlement(given, { now: NOW, trialDays: 7, reports });
        const { report: _, ...others } = given;
        expect(entitlement).toEqual(entitlementOf(reports === 'accept' ? given : others, NOW, 7));
        expect(because.at(-1)).toContain(endings[entitlement.state]);
        expect(because.at(-1)!.includes('has access')).toBe(entitlement.access);
      }),
    );
  });
});
