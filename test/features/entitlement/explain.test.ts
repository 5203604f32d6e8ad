import { expect, test } from 'vitest';
import { explainEntitlement } from '../../../src/features/entitlement/explain.ts';
import { entitlementOf, type EntitlementFacts } from '../../../src/features/entitlement/model.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const purchase = { productId: 'premium', willRenew: true, checkedAt: NOW - HOUR };
const paid = { ...purchase, state: 'active', expiresAt: NOW + DAY } as const;
const over = { ...purchase, state: 'expired', expiresAt: NOW - DAY } as const;
const report = { subscribed: true, at: NOW - HOUR };

const ANSWERED = 'The purchase of premium: the app store answered';
const REPORTED = 'The app reported at 2026-11-22 11:00 UTC that the user is subscribed.';

test.each<[facts: EntitlementFacts, reports: 'accept' | 'ignore', told: string, conclusion: string]>([
  [
    { purchases: [paid] },
    'accept',
    `${ANSWERED} active at 2026-11-22 11:00 UTC, paid until 2026-11-23 12:00 UTC. It gives access until then.`,
    'So it is subscribed, by a purchase, and has access until 2026-11-23 12:00 UTC.',
  ],
  [
    { purchases: [{ ...paid, checkedAt: NOW - DAY, expiresAt: NOW - HOUR }] },
    'accept',
    `${ANSWERED} active at 2026-11-21 12:00 UTC, paid until 2026-11-22 11:00 UTC. The renewal is awaited: it gives access until 2026-11-23 11:00 UTC.`,
    'So it is subscribed, by a purchase, and has access until 2026-11-23 11:00 UTC.',
  ],
  [
    { purchases: [{ ...purchase, state: 'pending', expiresAt: undefined }] },
    'accept',
    `${ANSWERED} pending at 2026-11-22 11:00 UTC, nothing is paid. It gives no access: its first payment is pending.`,
    'So its state is none: it has no access, and never had access by a purchase or a trial.',
  ],
  [
    { report },
    'accept',
    `${REPORTED} Nobody verified it, and it counts until 2026-11-25 11:00 UTC.`,
    'So it is subscribed, by a report, and has access until 2026-11-25 11:00 UTC.',
  ],
  [
    { report },
    'ignore',
    `${REPORTED} It does not count: SUBSCRIPTION_REPORTS=ignore.`,
    'So its state is none: it has no access, and never had access by a purchase or a trial.',
  ],
  [
    { report, purchases: [over] },
    'accept',
    `${REPORTED} It does not count: the app store's answer comes before a report.`,
    'So it is expired: it had access, and has none now. The last access ended at 2026-11-21 12:00 UTC.',
  ],
])('of %o, with reports %s, an operator reads how it decides', (facts, reports, told, conclusion) => {
  const { entitlement, because } = explainEntitlement(facts, { now: NOW, trialDays: 7, reports });
  expect(because).toContain(told);
  expect(because.at(-1)).toBe(conclusion);
  const { report: _, ...others } = facts;
  expect(entitlement).toEqual(entitlementOf(reports === 'accept' ? facts : others, NOW, 7));
});
