import { expect, test } from 'vitest';
import { Budget, type Share } from '../../bench/budget.ts';
import type { Scenario, Side, Target } from '../../bench/scenario.ts';

/** A scenario with this many sides. */
const scenario = (name: string, sides: number, more: Partial<Scenario> = {}): Scenario => ({
  ...{ name, title: name, summary: '', operation: 'request', targets: [], anywhere: true },
  sides: Array.from({ length: sides }, () => ({}) as Side),
  ...more,
});
const targets = [{} as Target];

/** Runs scenarios that each take the given seconds. */
function shares(seconds: number, ...run: readonly (readonly [Scenario, takes: number])[]): unknown[] {
  let now = 100;
  const budget = new Budget(
    seconds,
    run.map(([one]) => one),
    () => now,
  );
  const found: unknown[] = [];
  for (let share: Share | undefined; (share = budget.next()) !== undefined;) {
    found.push([share.scenario.name, share.seconds, share.mostSeconds]);
    now += run.find(([one]) => one === share!.scenario)![1];
  }
  return found;
}

test('scenarios with fixed rounds come first, and the others share the rest, twice as much for a scenario with a target', () => {
  const [plain, judged, grown] = [scenario('plain', 2), scenario('judged', 2, { targets }), scenario('grown', 2, { rounds: 8, targets })];
  // Each scenario gets 14 seconds for its two sides. Of the other 100 one fifth goes to the scenario without a target, and
  // two fifths go to each scenario with one. `plain` ends after twelve of its seconds, and `judged` gets the rest.
  expect(shares(142, [plain, 12], [judged, 46], [grown, 84])).toEqual([
    ['grown', 54, 114],
    ['plain', 24, 44],
    ['judged', 46, 46],
  ]);
});

test('a scenario with more sides needs more time for as many rounds', () => {
  expect(shares(56, [scenario('many', 6), 42], [scenario('few', 2), 14])[0]).toEqual(['many', 42, 42]);
});

test('all scenarios get less when the time is too short, and none gets a negative time', () => {
  expect(shares(14, [scenario('one', 2), 60], [scenario('two', 2, { targets }), 1])).toEqual([
    ['one', 7, 7],
    ['two', 0, 0],
  ]);
});
