import { describe, expect, test } from 'vitest';
import type { FigureName, Figures } from '../../bench/figures.ts';
import { judge, ratiosOf, unsettledSides } from '../../bench/judge.ts';
import type { Scenario, Target } from '../../bench/scenario.ts';

const target: Target = { what: 'server CPU against bare uWS', figure: 'serverCpu', side: 'coinop', against: 'uws', most: 1.3 };

const side = (id: string): Scenario['sides'][number] => ({ id, name: id, kind: 'service', open: () => Promise.reject(new Error()) });

const scenario: Scenario = {
  ...{ name: 'health', title: 'Health', summary: '', operation: 'request', anywhere: true },
  sides: [side('coinop'), side('uws')],
  targets: [target],
};

/** Rounds on a machine that slows down from round to round. In each round the service has the given ratio to the floor. */
function rounds(ratios: Partial<Record<FigureName, readonly number[]>>): Map<string, Figures[]> {
  const figures = Object.entries(ratios);
  const of = (value: (ratio: number) => number): Figures[] =>
    figures[0]![1].map((_, round) => Object.fromEntries(figures.map(([name, all]) => [name, value(all[round]!) * 10 * 1.3 ** round])));
  return new Map([
    ['coinop', of((ratio) => ratio)],
    ['uws', of(() => 1)],
  ]);
}

const eight = (middle: number): number[] => [0.97, 0.98, 0.99, 1, 1, 1.01, 1.02, 1.03].map((part) => part * middle);
const wide = (middle: number): number[] => [0.8, 0.9, 0.95, 1, 1, 1.05, 1.1, 1.2].map((part) => part * middle);

describe('a target', () => {
  test.each([
    ['reached when the whole interval is below the bound', 1.25, 'reached'],
    ['missed when the whole interval is above the bound', 1.36, 'missed'],
    ['not decided when the interval contains the bound', 1.3, 'not decided'],
  ])('is %s', (_, middle, verdict) => {
    const result = judge(target, rounds({ serverCpu: eight(middle) }));
    expect(result).toMatchObject({ verdict, figure: 'serverCpu', isRatio: true, most: 1.3, value: expect.closeTo(middle, 3) });
    expect([result.low! < middle, result.high! > middle]).toEqual([true, true]);
  });

  test('is not decided when there are too few rounds for an interval, and not judged when a side is missing', () => {
    const result = judge(target, rounds({ serverCpu: [1, 1, 1, 1, 1] }));
    expect(result).toMatchObject({ value: 1, verdict: 'not decided' });
    expect(result.low).toBeUndefined();
    expect(judge({ ...target, against: 'missing' }, rounds({ serverCpu: eight(1) }))).toEqual({
      ...{ what: target.what, figure: 'serverCpu', isRatio: true, most: 1.3, regimes: [] },
    });
  });

  test.each([
    ['not decided', 'serverCpuHalfLoad', 1.29, 1.2],
    ['missed', 'serverCpuWrk', 1.29, 1.8],
    ['reached', 'serverCpuWrk', 1.15, 1.2],
  ])('has to hold under every kind of load: %s under %s is the worst', (verdict, figure, half, wrk) => {
    const load = { serverCpu: eight(1.1), serverCpuHalfLoad: eight(half), serverCpuWrk: eight(wrk) };
    const found = judge(target, rounds(load));
    expect(found).toMatchObject({ verdict, figure });
    expect(found.regimes.map((regime) => regime.figure)).toEqual(Object.keys(load));
  });

  test('for a counted figure of one side is judged by its value, without an interval', () => {
    const memory: Target = { what: 'memory', figure: 'entryBytes', side: 'coinop', most: 130 };
    const counted = (bytes: number): Map<string, Figures[]> => new Map([['coinop', [{ entryBytes: bytes }]]]);
    expect(judge(memory, counted(120), { isCounted: true })).toMatchObject({ value: 120, verdict: 'reached', isRatio: false });
    expect(judge(memory, counted(131), { isCounted: true })).toMatchObject({ verdict: 'missed' });
    expect(judge(memory, counted(120))).toMatchObject({ verdict: 'not decided' });
  });
});

test('every side is compared with the service under every load, but the sizes of a growth curve are not', () => {
  const found = rounds({ serverCpu: eight(1.1), serverCpuWrk: eight(1.2) });
  expect(ratiosOf(scenario, found)).toMatchObject([
    { side: 'coinop', against: 'uws', figure: 'serverCpu' },
    { side: 'coinop', against: 'uws', figure: 'serverCpuWrk' },
  ]);
  expect(ratiosOf({ ...scenario, sides: [{ ...side('coinop'), at: 1 }, side('uws')] }, found)).toEqual([]);
});

test.each<[title: string, goOn: string[], found: Map<string, Figures[]>, more?: Partial<Scenario>]>([
  ['every ratio is within 5 %', [], rounds({ serverCpu: eight(1.1) })],
  ['one is wider', ['coinop', 'uws'], rounds({ serverCpu: eight(1.1), serverCpuWrk: wide(1.1) })],
  ['a target is not decided', ['coinop', 'uws'], rounds({ serverCpu: eight(1.3) })],
  [
    'all but those of a peer are known',
    ['coinop', 'fastify'],
    new Map([...rounds({ serverCpu: eight(1.1) }), ['fastify', rounds({ serverCpu: wide(1.1) }).get('coinop')!]]),
    { sides: [...scenario.sides, side('fastify')] },
  ],
])('when %s, rounds continue for %j', (_, goOn, found, more = {}) => {
  expect([...unsettledSides({ ...scenario, ...more }, found)]).toEqual(goOn);
});
