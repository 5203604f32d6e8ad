import { expect, test } from 'vitest';
import { spread } from '../../bench/load/requests.ts';

test('requests are mixed evenly and in proportion to their shares', () => {
  expect(spread([3, 1])).toEqual([0, 0, 1, 0]);
  const day = spread([40, 40, 12, 8]);
  expect([0, 1, 2, 3].map((kind) => day.filter((turn) => turn === kind).length)).toEqual([40, 40, 12, 8]);
  expect(new Set(day.slice(0, 20)).size).toBe(4);
});
