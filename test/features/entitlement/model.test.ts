import { describe, expect, test } from 'vitest';
import { entitlementOf, type EntitlementFacts } from '../../../src/features/entitlement/model.ts';
import type { StoreState, StoreSubscription } from '../../../src/stores/store.ts';

const now = Date.parse('2031-05-01T12:00:00.000Z');
const hour = 3_600_000;
const day = 24 * hour;
const minute = 60_000;

const bought = (state: StoreState, expiresAt?: number, willRenew?: boolean, checkedAt = now - 3 * day): StoreSubscription => ({
  state,
  expiresAt,
  willRenew,
  checkedAt,
  productId: 'gold',
});

/**
 * A purchase in six positions: before its end; at its end and checked at that moment; past its end and checked since; at
 * its end without renewal; within 24 hours past its end, renewing and not checked since; the same at 24 hours.
 */
const ofState = (state: StoreState): Record<string, StoreSubscription> => ({
  [state]: bought(state, now + 1, true),
  [`${state}, renewing`]: bought(state, now, true, now),
  [`${state}, over`]: bought(state, now - 2 * minute, true, now),
  [`${state}, no renewal`]: bought(state, now, false),
  [`${state}, leeway`]: bought(state, now - day + 1, true),
  [`${state}, too late`]: bought(state, now - day, true),
});

/** A purchase that gives no access, before its end and within 24 hours past it. */
const ofEnded = (state: StoreState): Record<string, StoreSubscription> => ({
  [state]: bought(state, now + 1, true),
  [`${state}, leeway`]: bought(state, now - day + 1, true),
});

const stores: Record<string, StoreSubscription | undefined> = {
  'no purchase': undefined,
  ...ofState('active'),
  ...ofState('grace'),
  ...ofState('canceled'),
  ...ofEnded('on_hold'),
  ...ofEnded('paused'),
  ...ofEnded('expired'),
  pending: bought('pending'),
  'pending, canceled': bought('expired'),
};

const reports: Record<string, EntitlementFacts['report']> = {
  none: undefined,
  yes: { subscribed: true, at: now - 72 * hour + 1 },
  no: { subscribed: false, at: now - 72 * hour + 1 },
  'lapsed yes': { subscribed: true, at: now - 72 * hour },
  'lapsed no': { subscribed: false, at: now - 72 * hour },
};

const trialStarts = [undefined, now - 7 * day + 1, now - 7 * day];
const firstRuns = [undefined, now - 60 * day];

/**
 * The purchase, then the state without a trial, with an active trial and with an expired trial. A purchase outranks every
 * report.
 */
const table = `
  active                | subscribed subscribed subscribed
  active, renewing      | subscribed subscribed subscribed
  active, over          | expired    trial      expired
  active, no renewal    | expired    trial      expired
  active, leeway        | subscribed subscribed subscribed
  active, too late      | expired    trial      expired
  grace                 | grace      grace      grace
  grace, renewing       | grace      grace      grace
  grace, over           | expired    trial      expired
  grace, no renewal     | expired    trial      expired
  grace, leeway         | grace      grace      grace
  grace, too late       | expired    trial      expired
  canceled              | subscribed subscribed subscribed
  canceled, renewing    | expired    trial      expired
  canceled, over        | expired    trial      expired
  canceled, no renewal  | expired    trial      expired
  canceled, leeway      | expired    trial      expired
  canceled, too late    | expired    trial      expired
  on_hold               | expired    trial      expired
  on_hold, leeway       | expired    trial      expired
  paused                | expired    trial      expired
  paused, leeway        | expired    trial      expired
  expired               | expired    trial      expired
  expired, leeway       | expired    trial      expired
  pending               | none       trial      expired
  pending, canceled     | none       trial      expired
`;

/** The report decides when there is no purchase. */
const reportTable = `
  none        | none       trial      expired
  yes         | subscribed subscribed subscribed
  no          | none       trial      expired
  lapsed yes  | none       trial      expired
  lapsed no   | none       trial      expired
`;

const access: Record<string, boolean> = { subscribed: true, grace: true, trial: true, expired: false, none: false };

const rowsOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((row) => row.split('|').map((cell) => cell.trim()))
    .map(([name = '', states = '']) => ({ name, states: states.split(/ +/) }));

const rows = [
  ...rowsOf(reportTable).map(({ name, states }) => ({ store: 'no purchase', report: name, states })),
  ...rowsOf(table).flatMap(({ name, states }) => Object.keys(reports).map((report) => ({ store: name, report, states }))),
];

describe('entitlementOf', () => {
  test('the tables hold every combination of purchase and report once', () => {
    const combinations = Object.keys(stores).flatMap((store) => Object.keys(reports).map((report) => `${store} | ${report}`));
    expect(rows.map(({ store, report }) => `${store} | ${report}`)).toEqual(combinations);
    expect(rows.every(({ states }) => states.length === 3)).toBe(true);
  });

  test.each(rows)('gives the state of the table for purchase "$store" and report "$report"', ({ store, report, states }) => {
    const purchase = stores[store];
    for (const [index, trialStartedAt] of trialStarts.entries()) {
      const state = states[index]!;
      const facts = { purchases: purchase === undefined ? [] : [purchase], report: reports[report], trialStartedAt };
      for (const firstRunAt of firstRuns) {
        const told = entitlementOf({ ...facts, firstRunAt }, now, 7);
        expect(told).toMatchObject({ state, access: access[state] });
        // A first run adds firstRunAt and changes nothing else.
        expect(told).toEqual({
          ...entitlementOf(facts, now, 7),
          firstRunAt: firstRunAt === undefined ? undefined : '2031-03-02T12:00:00.000Z',
        });
        // expiresAt lies in the future with access and in the past without.
        if (told.expiresAt !== undefined) expect(Date.parse(told.expiresAt) > now).toBe(access[state]);
        else expect(access[state]).toBe(false);
      }
    }
  });

  test('the best of several purchases counts', () => {
    const entitled = (...purchases: StoreSubscription[]) => entitlementOf({ purchases }, now, 7);
    const on = (end: number) => new Date(end).toISOString();
    expect(entitled(bought('expired', now - day), bought('active', now + 1))).toEqual({
      state: 'subscribed',
      access: true,
      expiresAt: on(now + 1),
    });
    expect(entitled(bought('grace', now + day), bought('canceled', now + 1))).toMatchObject({
      state: 'subscribed',
      expiresAt: on(now + 1),
    });
    expect(entitled(bought('pending'), bought('grace', now + 1))).toMatchObject({ state: 'grace', expiresAt: on(now + 1) });
    // Neither gives access. The expired one was paid once.
    expect(entitled(bought('pending'), bought('expired', now - day))).toEqual({
      state: 'expired',
      access: false,
      expiresAt: on(now - day),
    });
    expect(entitled(bought('on_hold', now - hour), bought('expired', now - day))).toMatchObject({ expiresAt: on(now - hour) });
  });

  test('expiresAt with access is the end of the fact that grants it, not the latest end', () => {
    const trialStartedAt = now - day;
    const ends = (facts: EntitlementFacts) => entitlementOf(facts, now, 7).expiresAt;
    expect(ends({ trialStartedAt, purchases: [bought('active', now + hour)] })).toBe('2031-05-01T13:00:00.000Z');
    expect(ends({ trialStartedAt, purchases: [bought('grace', now + hour)] })).toBe('2031-05-01T13:00:00.000Z');
    expect(ends({ trialStartedAt, purchases: [bought('active', now - hour, true)] })).toBe('2031-05-02T11:00:00.000Z');
    expect(ends({ trialStartedAt, report: { subscribed: true, at: now - 70 * hour } })).toBe('2031-05-01T14:00:00.000Z');
    expect(ends({ trialStartedAt, purchases: [bought('expired', now - hour)] })).toBe('2031-05-07T12:00:00.000Z');
    expect(ends({})).toBeUndefined();
  });

  test('expiresAt without access is the latest end in the past', () => {
    const ended = (facts: EntitlementFacts) => entitlementOf(facts, now, 7).expiresAt;
    const trialStartedAt = now - 8 * day;
    expect(ended({ trialStartedAt })).toBe('2031-04-30T12:00:00.000Z');
    expect(ended({ purchases: [bought('expired', now - hour)] })).toBe('2031-05-01T11:00:00.000Z');
    expect(ended({ trialStartedAt, purchases: [bought('expired', now - hour)] })).toBe('2031-05-01T11:00:00.000Z');
    expect(ended({ trialStartedAt, purchases: [bought('expired', now - 9 * day)] })).toBe('2031-04-30T12:00:00.000Z');
  });

  test('expiresAt without access ignores ends in the future', () => {
    expect(entitlementOf({ purchases: [bought('paused', now + hour)] }, now, 7)).toEqual({ state: 'expired', access: false });
    const trialStartedAt = now - 8 * day;
    expect(entitlementOf({ purchases: [bought('pending')], trialStartedAt }, now, 7).expiresAt).toBe('2031-04-30T12:00:00.000Z');
  });

  test('the third argument sets the days of the trial', () => {
    expect(entitlementOf({ trialStartedAt: now - 8 * day }, now, 9)).toEqual({
      state: 'trial',
      access: true,
      expiresAt: '2031-05-02T12:00:00.000Z',
    });
  });
});
