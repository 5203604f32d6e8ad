import { hodgesLehmann, isWithin, type Estimate } from '../measure/statistics.ts';

/** What a figure of a scenario came to: the working tree's over the commit's. */
export interface Change extends Estimate {
  readonly verdict: ChangeVerdict;
}

export type ChangeVerdict = 'no difference' | 'slower' | 'faster' | 'not decided';

/** Of each interval. It is taken of pairs of processes, so that the few per cent by which two alike differ are in it. */
const CONFIDENCE = 0.99;

/** Differences below this are none: what "within 3 %" means. */
const SAME = 0.03;

/**
 * A difference is called one where the estimate is at least 3 % and all of the interval is beyond this. With twenty figures
 * an interval of 99 % alone would name one of them in every fifth comparison of a tree with itself.
 */
const SURELY = 0.01;

/** How well a figure has to be known before it is measured no more. */
const ENOUGH = 0.015;

/** @param ratios of one figure, one of each pair of processes */
export function judgeChange(ratios: readonly number[]): Change {
  const { value, low, high } = hodgesLehmann(ratios.map(Math.log), CONFIDENCE);
  const estimate = { value: Math.exp(value), low: Math.exp(low), high: Math.exp(high) };
  return { ...estimate, verdict: verdictOn(estimate) };
}

export function isKnown(ratios: readonly number[]): boolean {
  return isWithin(judgeChange(ratios), ENOUGH);
}

function verdictOn({ value, low, high }: Estimate): ChangeVerdict {
  if (high <= 1 + SAME && low >= 1 / (1 + SAME)) return 'no difference';
  if (value >= 1 + SAME && low > 1 + SURELY) return 'slower';
  if (value <= 1 / (1 + SAME) && high < 1 / (1 + SURELY)) return 'faster';
  return 'not decided';
}
