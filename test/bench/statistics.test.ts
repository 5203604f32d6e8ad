import { describe, expect, test } from 'vitest';
import { hodgesLehmann, isWithin, median, pairedRatio, percentile } from '../../bench/measure/statistics.ts';
import { seeded } from '../seeded.ts';

test('the median is the middle value of unsorted values, which stay as they are', () => {
  const values = [4, 1, 3, 2];
  expect([median([9, 1, 5]), median(values), median([7]), median([])]).toEqual([5, 2.5, 7, Number.NaN]);
  expect(values).toEqual([4, 1, 3, 2]);
});

test('a percentile is the smallest value with that part of all values at or below it', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
  expect([0, 0.5, 0.99, 0.999, 1].map((part) => percentile(hundred, part))).toEqual([1, 50, 99, 100, 100]);
  expect([percentile([3], 0.99), percentile([1, 2], 0.5), percentile([], 0.5)]).toEqual([3, 1, Number.NaN]);
});

describe('the Hodges–Lehmann estimate', () => {
  const oneTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

  test.each<[values: number[], confidence: number, value: number, low: number, high: number]>([
    // Walsh averages of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6.
    [[6, 1, 2], 0.95, 2.75, -Infinity, Infinity],
    // Walsh averages of 1, 2, 3, 1000: 1, 1.5, 2, 2, 2.5, 3, and four that contain the 1000: 500.5, 501, 501.5, 1000.
    [[1, 2, 3, 1000], 0.95, 2.75, -Infinity, Infinity],
    [[], 0.95, Number.NaN, -Infinity, Infinity],
    // The most extreme outcome is that all signs are equal: 2 of 2^5 ways (6.25 %), 2 of 2^6 (3.1 %), 2 of 2^7 (1.6 %), 2 of 2^8 (0.8 %).
    [oneTo(5), 0.95, 3, -Infinity, Infinity],
    [oneTo(6), 0.95, 3.5, 1, 6],
    [oneTo(7), 0.99, 4, -Infinity, Infinity],
    [oneTo(8), 0.99, 4.5, 1, 8],
    // Of the 2^8 ways, 1, 1, 1 and 2 have a rank sum of 0, 1, 2 and 3 (together 1.95 %), and 2 more have 4 (2.7 %). So the
    // fourth average from either end bounds the interval. The lowest averages are 1, 1.5, 2 and 2.
    [oneTo(8).toReversed(), 0.95, 4.5, 2, 7],
    // Hollander and Wolfe's table for 10 values: the eighth average from either end. The lowest averages are 1, 1.5, 2, 2,
    // 2.5, 2.5, 3, 3.
    [oneTo(10), 0.95, 5.5, 3, 8],
    // For 10 values at 99 %: of the 1,024 ways, 5 have a rank sum of at most 3 and 7 of at most 4. So the fourth average from
    // either end bounds the interval.
    [oneTo(10), 0.99, 5.5, 2, 9],
  ])(
    'of %j at %d is %d (%d to %d): the median of the Walsh averages, with the interval of the signed-rank test',
    (values, confidence, value, low, high) => {
      expect(hodgesLehmann(values, confidence)).toEqual({ value, low, high });
    },
  );

  test('has an interval that contains the true value as often as its confidence says, under different noise', () => {
    const random = seeded(7);
    const noises = [
      () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()),
      // Heavy tails, as on a machine that sometimes does other work.
      () => Math.tan(Math.PI * (random() - 0.5)),
    ];
    const sizes = [
      [9, 0.95],
      [20, 0.95],
      [12, 0.99],
    ] as const;
    const trials = 600;
    for (const noise of noises) {
      for (const [count, confidence] of sizes) {
        const isCovered = (): boolean => {
          const { low, high } = hodgesLehmann(
            Array.from({ length: count }, () => 3 + noise()),
            confidence,
          );
          return low <= 3 && high >= 3;
        };
        const covered = Array.from({ length: trials }, isCovered).filter(Boolean).length / trials;
        // The interval is exact, so its coverage is too low only by chance (three standard deviations). The statistic is
        // discrete, which raises the coverage by at most 0.012.
        const chance = 3 * Math.sqrt((confidence * (1 - confidence)) / trials);
        expect(covered).toBeGreaterThan(confidence - chance);
        expect(covered).toBeLessThan(Math.min(1, confidence + chance + 0.012));
      }
    }
  });
});

describe('a ratio of pairs', () => {
  test('is computed within each round, so that a slowdown of the machine cancels out, and leaves out rounds without a value', () => {
    const slower = [10, 11, 13, 17, 25, 40, 70, 100];
    const faster = slower.map((value) => 1.25 * value);
    const about = expect.closeTo(1.25, 9);
    expect(pairedRatio(faster, slower, 0.95)).toEqual({ value: about, low: about, high: about });
    expect(pairedRatio([2, undefined, 6, Number.NaN], [1, 1, 3, 1, 1], 0.95).value).toBeCloseTo(2, 9);
  });

  test('is within a precision when its interval is', () => {
    const estimate = hodgesLehmann([98, 99, 100, 100, 101, 102], 0.95);
    expect([estimate.low, estimate.high].map(Math.round)).toEqual([98, 102]);
    expect([isWithin(estimate, 0.05), isWithin(estimate, 0.01), isWithin(hodgesLehmann([98, 99], 0.95), 0.05)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
