import { describe, expect, test } from 'vitest';
import { isKnown, judgeChange, type ChangeVerdict } from '../../../bench/compare/judge.ts';
import { verdictText } from '../../../bench/compare/report.ts';
import { seeded } from '../../seeded.ts';

const random = seeded(11);
const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Simulates pairs of processes: the tree costs `ratio` times the commit, and processes of the same code differ by `bias`. */
function pairs(count: number, ratio: number, bias: number): number[] {
  return Array.from({ length: count }, () => ratio * Math.exp(bias * normal()));
}

/** Simulates a comparison: adds pairs until the figure is known or `most` pairs have run. */
function compared(most: number, ratio: number, bias: number): ChangeVerdict {
  const ratios = pairs(8, ratio, bias);
  while (ratios.length < most && !isKnown(ratios)) ratios.push(...pairs(1, ratio, bias));
  return judgeChange(ratios).verdict;
}

describe('a comparison of two checkouts', () => {
  test('reports a slower or faster tree with the interval of the change', () => {
    const around = (middle: number): number[] => [0.98, 0.985, 0.99, 1, 1, 1.01, 1.015, 1.02].map((part) => part * middle);
    expect(judgeChange(around(1)).verdict).toBe('no difference');
    expect(judgeChange(around(1.05)).verdict).toBe('slower');
    expect(verdictText(judgeChange(around(1.05)))).toBe('slower by 2.9–7.1 %');
    expect(judgeChange(around(0.9)).verdict).toBe('faster');
    expect(verdictText(judgeChange(around(0.9)))).toBe('faster by 8.2–11.8 %');
    // The interval is neither within 3 % nor beyond 3 %.
    expect(judgeChange(around(1.025)).verdict).toBe('not decided');
  });

  test('decides nothing when there are too few pairs for a 99 % interval', () => {
    expect(judgeChange([2, 2, 2, 2, 2, 2, 2]).verdict).toBe('not decided');
    expect(judgeChange([2, 2, 2, 2, 2, 2, 2, 2]).verdict).toBe('slower');
    expect(judgeChange([]).verdict).toBe('not decided');
  });

  test('rarely reports a change between a tree and itself in twenty figures, on a quiet and on a noisy machine', () => {
    for (const [bias, most] of [
      [0.015, 20],
      [0.03, 14],
      [0.06, 12],
    ] as const) {
      const comparisons = 100;
      let cried = 0;
      for (let one = 0; one < comparisons; one++) {
        const verdicts = Array.from({ length: 20 }, () => compared(most, 1, bias));
        if (verdicts.some((verdict) => verdict === 'slower' || verdict === 'faster')) cried++;
      }
      expect({ bias, cried }).toEqual({ bias, cried: expect.toSatisfy((times: number) => times <= 6) });
    }
  });

  test('reports "no difference" for an unchanged figure when processes of the same code differ by 1.5 %', () => {
    const verdicts = Array.from({ length: 300 }, () => compared(20, 1, 0.015));
    expect(verdicts.filter((verdict) => verdict === 'no difference').length).toBeGreaterThan(290);
  });

  test('finds 5 % more work in a request', () => {
    for (const bias of [0.01, 0.02]) {
      const verdicts = Array.from({ length: 200 }, () => compared(20, 1.05, bias));
      expect(verdicts.filter((verdict) => verdict === 'slower').length).toBeGreaterThan(185);
      expect(verdicts).not.toContain('no difference');
      expect(verdicts).not.toContain('faster');
    }
  });
});
