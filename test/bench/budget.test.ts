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

test('scenarios that take what they take come first, and the others share what is left, more of it where there is a target', () => {
  let now = 100;
  const all = [scenario('plain'), scenario('judged', { targets: [target, target] }), scenario('grown', { rounds: 8, targets: [target] })];
  const budget = new Budget(142, all, () => now);

  // 14 seconds each for two sides, and of the 100 left over a fifth, or two where there is a target.
  expect(budget.next()).toMatchObject({ scenario: { name: 'grown' }, seconds: 54, mostSeconds: 114 });
  now += 84;
  expect(budget.next()).toMatchObject({ scenario: { name: 'plain' }, seconds: 24, mostSeconds: 44 });
  // It was known well enough after twelve seconds: the rest is the next one's.
  now += 12;
  expect(budget.next()).toMatchObject({ scenario: { name: 'judged' }, seconds: 46, mostSeconds: 46 });
  expect(budget.next()).toBeUndefined();
});

test('a scenario with more sides needs more time for as many rounds', () => {
  const budget = new Budget(56, [scenario('many', { sides: sides(6) }), scenario('few')], () => 0);
  expect(budget.next()).toMatchObject({ scenario: { name: 'many' }, seconds: 42, mostSeconds: 42 });
});

test('where the time is too short for all, all have less', () => {
  const budget = new Budget(14, [scenario('one'), scenario('two', { targets: [target] })], () => 0);
  expect(budget.next()).toMatchObject({ seconds: 7, mostSeconds: 7 });
});

test('a run that is late has no time left, and none is negative', () => {
  let now = 0;
  const budget = new Budget(10, [scenario('one'), scenario('two')], () => now);
  budget.next();
  now = 60;
  expect(budget.next()).toMatchObject({ seconds: 0, mostSeconds: 0 });
});
