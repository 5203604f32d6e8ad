import { hodgesLehmann, isWithin, type Estimate } from '../measure/statistics.ts';

/** The ratio of a figure, working tree over commit, with its verdict. */
export interface Change extends Estimate {
  readonly verdict: ChangeVerdict;
}

export type ChangeVerdict = 'no difference' | 'slower' | 'faster' | 'not decided';

/** Confidence of each interval. Its values are pairs of processes, so it covers the difference between equal processes. */
const CONFIDENCE = 0.99;

/** A smaller change counts as no difference: this is what "within 3 %" means. */
const EQUIVALENCE = 0.03;

/**
 * The verdicts slower and faster need an estimate of at least 3 % and an interval that lies beyond this. With twenty figures,
 * a 99 % interval alone would report a change in every fifth comparison of a tree with itself.
 */
const MIN_CHANGE = 0.01;

/** A figure is known well enough when its interval lies within 1.5 % of it. */
const PRECISION = 0.015;

/** @param ratios of one figure, one for each pair of processes */
export function judgeChange(ratios: readonly number[]): Change {
  const { value, low, high } = hodgesLehmann(ratios.map(Math.log), CONFIDENCE);
  const estimate = { value: Math.exp(value), low: Math.exp(low), high: Math.exp(high) };
  return { ...estimate, verdict: verdictOn(estimate) };
}

export function isKnown(ratios: readonly number[]): boolean {
  return isWithin(judgeChange(ratios), PRECISION);
}

function verdictOn({ value, low, high }: Estimate): ChangeVerdict {
  if (high <= 1 + EQUIVALENCE && low >= 1 / (1 + EQUIVALENCE)) return 'no difference';
  if (value >= 1 + EQUIVALENCE && low > 1 + MIN_CHANGE) return 'slower';
  if (value <= 1 / (1 + EQUIVALENCE) && high < 1 / (1 + MIN_CHANGE)) return 'faster';
  return 'not decided';
}
