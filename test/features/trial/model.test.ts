import { expect, test } from 'vitest';
import { trialOf } from '../../../src/features/trial/model.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const TIMES = { startedAt: '2026-03-01T12:00:00.000Z', expiresAt: '2026-03-08T12:00:00.000Z' };
const END = Date.parse(TIMES.expiresAt);

test('the state is none without a start', () => {
  expect(trialOf(undefined, START, 7)).toEqual({ active: false, state: 'none' });
});

test('a trial is active until the last millisecond before its end', () => {
  expect(trialOf(START, START, 7)).toEqual({ active: true, state: 'active', ...TIMES, remainingSeconds: 604_800 });
  expect(trialOf(START, END - 1, 7)).toEqual({ active: true, state: 'active', ...TIMES, remainingSeconds: 1 });
  expect(trialOf(START, END, 7)).toEqual({ active: false, state: 'expired', ...TIMES });
});

test('a longer TRIAL_DAYS extends a started trial', () => {
  expect(trialOf(START, END, 8)).toMatchObject({ active: true, remainingSeconds: 86_400 });
});
