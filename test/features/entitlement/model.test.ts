import { describe, expect, test } from 'vitest';
import { entitlementOf, type EntitlementFacts } from '../../../src/features/entitlement/model.ts';

const now = Date.parse('2031-05-01T12:00:00.000Z');
const hour = 3_600_000;
const day = 24 * hour;

const stores: Record<string, EntitlementFacts['store']> = {
  'no word': undefined,
  active: { state: 'active', expiresAt: now + 1 },
  'active, over': { state: 'active', expiresAt: now },
  grace: { state: 'grace', expiresAt: now + 1 },
  'grace, over': { state: 'grace', expiresAt: now },
  canceled: { state: 'canceled', expiresAt: now + 1 },
  'canceled, over': { state: 'canceled', expiresAt: now },
  'on hold': { state: 'on_hold', expiresAt: now - 1 },
  paused: { state: 'paused', expiresAt: now - 1 },
  expired: { state: 'expired', expiresAt: now - 1 },
  pending: { state: 'pending' },
};

const reports: Record<string, EntitlementFacts['report']> = {
  none: undefined,
  yes: { subscribed: true, at: now - 72 * hour + 1 },
  no: { subscribed: false, at: now - 72 * hour + 1 },
  'lapsed yes': { subscribed: true, at: now - 72 * hour },
  'lapsed no': { subscribed: false, at: now - 72 * hour },
};

const trialStarts = [undefined, now - 7 * day + 1, now - 7 * day];

/** The store's word, the report, then the state without a trial, with one under way, with one that is over. */
const table = `
  no word        | none       | none       trial      expired
  no word        | yes        | subscribed subscribed subscribed
  no word        | no         | none       trial      expired
  no word        | lapsed yes | none       trial      expired
  no word        | lapsed no  | none       trial      expired
  active         | none       | subscribed subscribed subscribed
  active         | yes        | subscribed subscribed subscribed
  active         | no         | subscribed subscribed subscribed
  active         | lapsed yes | subscribed subscribed subscribed
  active         | lapsed no  | subscribed subscribed subscribed
  active, over   | none       | expired    trial      expired
  active, over   | yes        | expired    trial      expired
  active, over   | no         | expired    trial      expired
  active, over   | lapsed yes | expired    trial      expired
  active, over   | lapsed no  | expired    trial      expired
  grace          | none       | grace      grace      grace
  grace          | yes        | grace      grace      grace
  grace          | no         | grace      grace      grace
  grace          | lapsed yes | grace      grace      grace
  grace          | lapsed no  | grace      grace      grace
  grace, over    | none       | expired    trial      expired
  grace, over    | yes        | expired    trial      expired
  grace, over    | no         | expired    trial      expired
  grace, over    | lapsed yes | expired    trial      expired
  grace, over    | lapsed no  | expired    trial      expired
  canceled       | none       | subscribed subscribed subscribed
  canceled       | yes        | subscribed subscribed subscribed
  canceled       | no         | subscribed subscribed subscribed
  canceled       | lapsed yes | subscribed subscribed subscribed
  canceled       | lapsed no  | subscribed subscribed subscribed
  canceled, over | none       | expired    trial      expired
  canceled, over | yes        | expired    trial      expired
  canceled, over | no         | expired    trial      expired
  canceled, over | lapsed yes | expired    trial      expired
  canceled, over | lapsed no  | expired    trial      expired
  on hold        | none       | expired    trial      expired
  on hold        | yes        | expired    trial      expired
  on hold        | no         | expired    trial      expired
  on hold        | lapsed yes | expired    trial      expired
  on hold        | lapsed no  | expired    trial      expired
  paused         | none       | expired    trial      expired
  paused         | yes        | expired    trial      expired
  paused         | no         | expired    trial      expired
  paused         | lapsed yes | expired    trial      expired
  paused         | lapsed no  | expired    trial      expired
  expired        | none       | expired    trial      expired
  expired        | yes        | expired    trial      expired
  expired        | no         | expired    trial      expired
  expired        | lapsed yes | expired    trial      expired
  expired        | lapsed no  | expired    trial      expired
  pending        | none       | none       trial      expired
  pending        | yes        | none       trial      expired
  pending        | no         | none       trial      expired
  pending        | lapsed yes | none       trial      expired
  pending        | lapsed no  | none       trial      expired
`;

const access: Record<string, boolean> = { subscribed: true, grace: true, trial: true, expired: false, none: false };

const rows = table
  .trim()
  .split('\n')
  .map((row) => row.split('|').map((cell) => cell.trim()))
  .map(([store = '', report = '', states = '']) => ({ store, report, states: states.split(/ +/) }));

describe('entitlement', () => {
  test('the table holds every combination once', () => {
    const combinations = Object.keys(stores).flatMap((store) => Object.keys(reports).map((report) => `${store} | ${report}`));
    expect(rows.map(({ store, report }) => `${store} | ${report}`)).toEqual(combinations);
    expect(rows.every(({ states }) => states.length === 3)).toBe(true);
  });

  test.each(rows)('store: $store, report: $report', ({ store, report, states }) => {
    for (const [index, trialStartedAt] of trialStarts.entries()) {
      const facts = { store: stores[store], report: reports[report], trialStartedAt };
      const state = states[index]!;
      expect(entitlementOf(facts, now, 7)).toMatchObject({ state, access: access[state] });
      // A first run changes nothing but that it is told.
      const told = entitlementOf({ ...facts, firstRunAt: now - 60 * day }, now, 7);
      expect(told).toEqual({ ...entitlementOf(facts, now, 7), firstRunAt: '2031-03-02T12:00:00.000Z' });
    }
  });

  test('tells when the access ends: of what grants it, not of what lasts longest', () => {
    const trialStartedAt = now - day;
    const ends = (facts: EntitlementFacts) => entitlementOf(facts, now, 7).expiresAt;
    expect(ends({ trialStartedAt, store: { state: 'active', expiresAt: now + hour } })).toBe('2031-05-01T13:00:00.000Z');
    expect(ends({ trialStartedAt, store: { state: 'grace', expiresAt: now + hour } })).toBe('2031-05-01T13:00:00.000Z');
    expect(ends({ trialStartedAt, report: { subscribed: true, at: now - 70 * hour } })).toBe('2031-05-01T14:00:00.000Z');
    expect(ends({ trialStartedAt, store: { state: 'expired', expiresAt: now - hour } })).toBe('2031-05-07T12:00:00.000Z');
    expect(ends({})).toBeUndefined();
  });

  test('tells when the access ended: the last of what there was', () => {
    const ended = (facts: EntitlementFacts) => entitlementOf(facts, now, 7).expiresAt;
    expect(ended({ trialStartedAt: now - 8 * day })).toBe('2031-04-30T12:00:00.000Z');
    expect(ended({ store: { state: 'expired', expiresAt: now - hour } })).toBe('2031-05-01T11:00:00.000Z');
    expect(ended({ trialStartedAt: now - 8 * day, store: { state: 'expired', expiresAt: now - hour } })).toBe('2031-05-01T11:00:00.000Z');
    expect(ended({ trialStartedAt: now - 8 * day, store: { state: 'expired', expiresAt: now - 9 * day } })).toBe(
      '2031-04-30T12:00:00.000Z',
    );
  });

  test('an end to come is none that has ended', () => {
    expect(entitlementOf({ store: { state: 'paused', expiresAt: now + hour } }, now, 7)).toEqual({ state: 'expired', access: false });
    expect(entitlementOf({ store: { state: 'pending', expiresAt: now - hour }, trialStartedAt: now - 8 * day }, now, 7).expiresAt).toBe(
      '2031-04-30T12:00:00.000Z',
    );
  });

  test('the days of the trial are a setting', () => {
    expect(entitlementOf({ trialStartedAt: now - 8 * day }, now, 9)).toEqual({
      state: 'trial',
      access: true,
      expiresAt: '2031-05-02T12:00:00.000Z',
    });
  });
});
