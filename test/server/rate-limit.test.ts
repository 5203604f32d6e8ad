import { expect, test } from 'vitest';
import { RateLimit } from '../../src/server/rate-limit.ts';

test('past 100,000 addresses ten thousand are forgotten at once, because finding them takes time', () => {
  const limit = new RateLimit(1, 1000, 1);
  for (let index = 0; index < 100_000; index++) limit.take(`a${index}`, 0);
  expect(limit.size).toBe(100_000);
  expect([limit.take('another', 0), limit.size, limit.take('another', 0)]).toEqual([0, 90_000, 1000]);
});

test('a flood of addresses makes the limit forget idle addresses before those that have used something up', () => {
  const limit = new RateLimit(1, 100_000, 1);
  for (let index = 0; index < 60_000; index++) limit.take(`idle${index}`, 0);
  limit.take('busy', 150_000);
  for (let index = 0; index < 40_001; index++) limit.take(`new${index}`, 150_000);
  expect([limit.size, limit.take('busy', 150_000)]).toEqual([40_002, 100_000]);
});

test('a flood of addresses makes the limit forget those that have used least, whenever they came', () => {
  const limit = new RateLimit(1, 1000, 5);
  const busy = Array.from({ length: 50 }, (_, index) => `busy${index}`);
  for (const address of busy) for (let count = 0; count < 5; count++) limit.take(address, 0);
  for (let index = 0; index < 200_000; index++) limit.take(`light${index}`, index / 1000);
  expect(busy.filter((address) => limit.take(address, 200) === 0)).toEqual([]);
});
