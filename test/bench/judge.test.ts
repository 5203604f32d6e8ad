import { describe, expect, test } from 'vitest';
import type { FigureName, Figures } from '../../bench/figures.ts';
import { judge, ratiosOf, unsettledSides } from '../../bench/judge.ts';
import type { Scenario, Target } from '../../bench/scenario.ts';

const target: Target = { what: 'server CPU against bare uWS', figure: 'serverCpu', side: 'coinop', against: 'uws', most: 1.3 };

const side = (id: string): Scenario['sides'][number] => ({ id, name: id, kind: 'service', open: () => Promise.reject(new Error()) });

const scenario: Scenario = {
  name: 'health',
  title: 'Health',
  summary: '',
  operation: 'request',
  sides: [side('coinop'), side('uws')],
  targets: [target],
  anywhere: true,
};

/** Rounds on a machine that slows down from round to round. In each round the service has the given ratio to the floor. */
function rounds(ratios: Partial<Record<FigureName, readonly number[]>>): Map<string, Figures[]> {
  const names = Object.keys(ratios) as FigureName[];
  const of = (value: (name: FigureName, round: number) => number): Figures[] =>
    Array.from({ length: ratios[names[0]!]!.length }, (_, round) => Object.fromEntries(names.map((name) => [name, value(name, round)])));
  const slower = (round: number): number => 10 * 1.3 ** round;
  return new Map([
    ['coinop', of((name, round) => slower(round) * ratios[name]![round]!)],
    ['uws', of((_, round) => slower(round))],
  ]);
}

const eight = (middle: number): number[] => [0.97, 0.98, 0.99, 1, 1, 1.01, 1.02, 1.03].map((part) => part * middle);

describe('a target', () => {
  test.each([
    ['reached when the whole interval is below the bound', 1.25, 'reached'],
    ['missed when the whole interval is above the bound', 1.36, 'missed'],
    ['not decided when the interval contains the bound', 1.3, 'not decided'],
  ])('is %s', (_, middle, verdict) => {
    const result = judge(target, rounds({ serverCpu: eight(middle) }));
    expect(result).toMatchObject({ verdict, figure: 'serverCpu', isRatio: true, most: 1.3 });
    expect(result.value).toBeCloseTo(middle, 3);
    expect(result.low!).toBeLessThan(middle);
    expect(result.high!).toBeGreaterThan(middle);
  });

  test('is not decided when there are too few rounds for an interval', () => {
    const result = judge(target, rounds({ serverCpu: [1, 1, 1, 1, 1] }));
    expect(result).toMatchObject({ value: 1, verdict: 'not decided' });
    expect(result.low).toBeUndefined();
  });

  test('has to hold under every kind of load, so the worst verdict counts', () => {
    const load = { serverCpu: eight(1.1), serverCpuHalfLoad: eight(1.29), serverCpuWrk: eight(1.2) };
    const open = judge(target, rounds(load));
    expect(open).toMatchObject({ verdict: 'not decided', figure: 'serverCpuHalfLoad' });
    expect(open.regimes.map(({ figure, verdict }) => [figure, verdict])).toEqual([
      ['serverCpu', 'reached'],
      ['serverCpuHalfLoad', 'not decided'],
      ['serverCpuWrk', 'reached'],
    ]);
    expect(judge(target, rounds({ ...load, serverCpuWrk: eight(1.8) }))).toMatchObject({ verdict: 'missed', figure: 'serverCpuWrk' });
    const reached = judge(target, rounds({ ...load, serverCpuHalfLoad: eight(1.15) }));
    expect(reached).toMatchObject({ verdict: 'reached', figure: 'serverCpuWrk' });
  });

  test('for a counted figure of one side is judged by its value, without an interval', () => {
    const memory: Target = { what: 'memory', figure: 'entryBytes', side: 'coinop', most: 130 };
    const counted = (bytes: number): Map<string, Figures[]> => new Map([['coinop', [{ entryBytes: bytes }]]]);
    expect(judge(memory, counted(120), { isCounted: true })).toMatchObject({ value: 120, verdict: 'reached', isRatio: false });
    expect(judge(memory, counted(131), { isCounted: true })).toMatchObject({ verdict: 'missed' });
    expect(judge(memory, counted(120))).toMatchObject({ verdict: 'not decided' });
  });

  test('is not judged when a side is missing', () => {
    const result = judge({ ...target, against: 'missing' }, rounds({ serverCpu: eight(1) }));
    expect(result).toEqual({ what: target.what, figure: 'serverCpu', isRatio: true, most: 1.3, regimes: [] });
  });
});

test('every side is compared with the service under every load, but the sizes of a growth curve are not', () => {
  const found = rounds({ serverCpu: eight(1.1), serverCpuWrk: eight(1.2) });
  expect(ratiosOf(scenario, found).map(({ side: own, against, figure }) => [own, against, figure])).toEqual([
    ['coinop', 'uws', 'serverCpu'],
    ['coinop', 'uws', 'serverCpuWrk'],
  ]);
  expect(ratiosOf({ ...scenario, sides: [{ ...side('coinop'), at: 1 }, side('uws')] }, found)).toEqual([]);
});

describe('rounds continue', () => {
  const wide = [0.8, 0.9, 0.95, 1, 1, 1.05, 1.1, 1.2].map((part) => part * 1.1);

  const both = new Set(['coinop', 'uws']);

  test('until every ratio is known within 5 %', () => {
    expect(unsettledSides(scenario, rounds({ serverCpu: eight(1.1) }))).toEqual(new Set());
    expect(unsettledSides(scenario, rounds({ serverCpu: wide }))).toEqual(both);
    expect(unsettledSides(scenario, rounds({ serverCpu: eight(1.1), serverCpuWrk: wide }))).toEqual(both);
    expect(unsettledSides({ ...scenario, targets: [] }, rounds({ serverCpu: wide }))).toEqual(both);
  });

  test('until every target is decided', () => {
    expect(unsettledSides(scenario, rounds({ serverCpu: eight(1.3) }))).toEqual(both);
  });

  test('without a side whose ratios and targets are known', () => {
    const found = rounds({ serverCpu: eight(1.1) });
    const withPeer = { ...scenario, sides: [...scenario.sides, side('fastify')] };
    expect(unsettledSides(withPeer, new Map([...found, ['fastify', rounds({ serverCpu: wide }).get('coinop')!]]))).toEqual(
      new Set(['coinop', 'fastify']),
    );
  });
});
