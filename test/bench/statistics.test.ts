import { describe, expect, test } from 'vitest';
import { median, percentile } from '../../bench/measure/statistics.ts';

describe('median', () => {
  test('is the middle, whatever the order', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([7])).toBe(7);
    expect(median([])).toBeNaN();
  });

  test('leaves what it was given as it was', () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).toEqual([3, 1, 2]);
  });
});

describe('percentile', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);

  test('is the smallest value that so many are not above', () => {
    expect(percentile(hundred, 0.5)).toBe(50);
    expect(percentile(hundred, 0.99)).toBe(99);
    expect(percentile(hundred, 0.999)).toBe(100);
    expect(percentile(hundred, 0)).toBe(1);
    expect(percentile(hundred, 1)).toBe(100);
  });

  test('of few, and of none', () => {
    expect(percentile([3], 0.99)).toBe(3);
    expect(percentile([1, 2], 0.5)).toBe(1);
    expect(percentile([], 0.5)).toBeNaN();
  });
});
