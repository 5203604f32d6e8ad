import { describe, expect, test } from 'vitest';
import { hodgesLehmann, isWithin, median, pairedRatio, percentile } from '../../bench/measure/statistics.ts';
import { seeded } from '../seeded.ts';

describe('median', () => {
  test('is the middle value of unsorted values', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([7])).toBe(7);
    expect(median([])).toBeNaN();
  });

  test('does not change its argument', () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).toEqual([3, 1, 2]);
  });
});

describe('percentile', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);

  test('is the smallest value with that part of all values at or below it', () => {
    expect(percentile(hundred, 0.5)).toBe(50);
    expect(percentile(hundred, 0.99)).toBe(99);
    expect(percentile(hundred, 0.999)).toBe(100);
    expect(percentile(hundred, 0)).toBe(1);
    expect(percentile(hundred, 1)).toBe(100);
  });

  test('is defined for one or two values, and NaN for none', () => {
    expect(percentile([3], 0.99)).toBe(3);
    expect(percentile([1, 2], 0.5)).toBe(1);
    expect(percentile([], 0.5)).toBeNaN();
  });
});

describe('the Hodges–Lehmann estimate', () => {
  test('is the median of the Walsh averages, which one outlier does not move', () => {
    // Walsh averages of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6.
    expect(hodgesLehmann([6, 1, 2], 0.95).value).toBe(2.75);
    // Walsh averages of 1, 2, 3, 1000: 1, 1.5, 2, 2, 2.5, 3, and four that contain the 1000: 500.5, 501, 501.5, 1000.
    expect(hodgesLehmann([1, 2, 3, 1000], 0.95).value).toBe(2.75);
  });

  test('has no 95 % interval for fewer than six values and no 99 % interval for fewer than eight', () => {
    // The most extreme outcome is that all signs are equal: 2 of 2^5 ways (6.25 %), 2 of 2^6 (3.1 %), 2 of 2^7 (1.6 %),
    // 2 of 2^8 (0.8 %).
    expect(hodgesLehmann([1, 2, 3, 4, 5], 0.95)).toEqual({ value: 3, low: -Infinity, high: Infinity });
    expect(hodgesLehmann([1, 2, 3, 4, 5, 6], 0.95)).toEqual({ value: 3.5, low: 1, high: 6 });
    expect(hodgesLehmann([1, 2, 3, 4, 5, 6, 7], 0.99).low).toBe(-Infinity);
    expect(hodgesLehmann([1, 2, 3, 4, 5, 6, 7, 8], 0.99)).toEqual({ value: 4.5, low: 1, high: 8 });
    expect(hodgesLehmann([], 0.95)).toEqual({ value: Number.NaN, low: -Infinity, high: Infinity });
  });

  test('has the interval of the signed-rank test', () => {
    // Of the 2^8 ways, 1, 1, 1 and 2 have a rank sum of 0, 1, 2 and 3 (together 1.95 %), and 2 more have 4 (2.7 %). So the
    // fourth average from either end bounds the interval. The lowest averages are 1, 1.5, 2 and 2.
    expect(hodgesLehmann([8, 7, 6, 5, 4, 3, 2, 1], 0.95)).toEqual({ value: 4.5, low: 2, high: 7 });
    // Hollander and Wolfe's table for 10 values: the eighth average from either end. The lowest averages are 1, 1.5, 2, 2,
    // 2.5, 2.5, 3 and 3.
    expect(hodgesLehmann([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.95)).toMatchObject({ low: 3, high: 8 });
    // For 10 values at 99 %: of the 1,024 ways, 5 have a rank sum of at most 3 and 7 of at most 4. So the fourth average from
    // either end bounds the interval.
    expect(hodgesLehmann([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.99)).toMatchObject({ low: 2, high: 9 });
  });

  test('has an interval that contains the true value as often as its confidence says, under different noise', () => {
    const random = seeded(7);
    const noises = [
      () => random() - 0.5,
      () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()),
      // Heavy tails, as on a machine that sometimes does other work.
      () => Math.tan(Math.PI * (random() - 0.5)),
    ];
    for (const noise of noises) {
      for (const [count, confidence] of [
        [9, 0.95],
        [20, 0.95],
        [12, 0.99],
      ] as const) {
        const trials = 600;
        let covered = 0;
        for (let trial = 0; trial < trials; trial++) {
          const { low, high } = hodgesLehmann(
            Array.from({ length: count }, () => 3 + noise()),
            confidence,
          );
          if (low <= 3 && high >= 3) covered++;
        }
        // The interval is exact, so its coverage is too low only by chance (three standard deviations). The statistic is
        // discrete, which raises the coverage by at most 0.012.
        const chance = 3 * Math.sqrt((confidence * (1 - confidence)) / trials);
        expect(covered / trials).toBeGreaterThan(confidence - chance);
        expect(covered / trials).toBeLessThan(Math.min(1, confidence + chance + 0.012));
      }
    }
  });
});

describe('a ratio of pairs', () => {
  test('is computed within each round, so that a slowdown of the machine cancels out', () => {
    const slower = [10, 11, 13, 17, 25, 40, 70, 100];
    const ratio = pairedRatio(
      slower.map((value) => 1.25 * value),
      slower,
      0.95,
    );
    for (const end of [ratio.value, ratio.low, ratio.high]) expect(end).toBeCloseTo(1.25, 9);
  });

  test('leaves out rounds in which a side has no value', () => {
    expect(pairedRatio([2, undefined, 6, Number.NaN], [1, 1, 3, 1, 1], 0.95).value).toBeCloseTo(2, 9);
  });

  test('is within a precision when its interval is', () => {
    const estimate = hodgesLehmann([98, 99, 100, 100, 101, 102], 0.95);
    expect([estimate.low, estimate.high].map(Math.round)).toEqual([98, 102]);
    expect(isWithin(estimate, 0.05)).toBe(true);
    expect(isWithin(estimate, 0.01)).toBe(false);
    expect(isWithin(hodgesLehmann([98, 99], 0.95), 0.05)).toBe(false);
  });
});
