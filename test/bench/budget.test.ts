import { expect, test } from 'vitest';
import { Budget } from '../../bench/budget.ts';
import type { Scenario, Target } from '../../bench/scenario.ts';

const scenario = (name: string, more: Partial<Scenario> = {}): Scenario => ({
  name,
  title: name,
  summary: '',
  operation: 'request',
  sides: [],
  targets: [],
  anywhere: true,
  ...more,
});
const target = {} as Target;

test('scenarios that take what they take come first, and the others share what is left, more of it where there is a target', () => {
  let now = 100;
  const all = [scenario('plain'), scenario('judged', { targets: [target, target] }), scenario('grown', { rounds: 8, targets: [target] })];
  const budget = new Budget(100, all, () => now);

  const grown = budget.next()!;
  expect([grown.scenario.name, grown.seconds]).toEqual(['grown', 40]);
  now += 70;
  const plain = budget.next()!;
  expect([plain.scenario.name, plain.seconds]).toEqual(['plain', 10]);
  // It was known well enough after four seconds: the rest is the next one's.
  now += 4;
  const judged = budget.next()!;
  expect([judged.scenario.name, judged.seconds]).toEqual(['judged', 26]);
  expect(budget.next()).toBeUndefined();
});

test('a run that is late has no time left, and none is negative', () => {
  let now = 0;
  const budget = new Budget(10, [scenario('one'), scenario('two')], () => now);
  budget.next();
  now = 60;
  expect(budget.next()!.seconds).toBe(0);
});
