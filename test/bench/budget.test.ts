import { expect, test } from 'vitest';
import { Budget } from '../../bench/budget.ts';
import type { Scenario, Side, Target } from '../../bench/scenario.ts';

const sides = (count: number): Scenario['sides'] => Array.from({ length: count }, () => ({}) as Side);
const scenario = (name: string, more: Partial<Scenario> = {}): Scenario => ({
  name,
  title: name,
  summary: '',
  operation: 'request',
  sides: sides(2),
  targets: [],
  anywhere: true,
  ...more,
});
const target = {} as Target;

test('scenarios with fixed rounds come first, and the others share the rest, twice as much for a scenario with a target', () => {
  let now = 100;
  const all = [scenario('plain'), scenario('judged', { targets: [target, target] }), scenario('grown', { rounds: 8, targets: [target] })];
  const budget = new Budget(142, all, () => now);

  // Each scenario gets 14 seconds for its two sides. Of the other 100 one fifth goes to the scenario without a target, and
  // two fifths go to each scenario with one.
  expect(budget.next()).toMatchObject({ scenario: { name: 'grown' }, seconds: 54, mostSeconds: 114 });
  now += 84;
  expect(budget.next()).toMatchObject({ scenario: { name: 'plain' }, seconds: 24, mostSeconds: 44 });
  // The scenario ended after twelve of its seconds, and the next one gets the rest.
  now += 12;
  expect(budget.next()).toMatchObject({ scenario: { name: 'judged' }, seconds: 46, mostSeconds: 46 });
  expect(budget.next()).toBeUndefined();
});

test('a scenario with more sides needs more time for as many rounds', () => {
  const budget = new Budget(56, [scenario('many', { sides: sides(6) }), scenario('few')], () => 0);
  expect(budget.next()).toMatchObject({ scenario: { name: 'many' }, seconds: 42, mostSeconds: 42 });
});

test('when the time is too short for the minimums, all scenarios get less', () => {
  const budget = new Budget(14, [scenario('one'), scenario('two', { targets: [target] })], () => 0);
  expect(budget.next()).toMatchObject({ seconds: 7, mostSeconds: 7 });
});

test('a late run leaves zero seconds to the next scenario, never a negative number', () => {
  let now = 0;
  const budget = new Budget(10, [scenario('one'), scenario('two')], () => now);
  budget.next();
  now = 60;
  expect(budget.next()).toMatchObject({ seconds: 0, mostSeconds: 0 });
});
