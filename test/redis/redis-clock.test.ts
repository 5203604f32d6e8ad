import { expect, test } from 'vitest';
import { RedisClock, type ClockReading } from '../../src/redis/redis-clock.ts';

let tick: number;

/** A clock at the tick 1000, and a read whose answer took some milliseconds. */
function made() {
  tick = 1000;
  const clock = new RedisClock(
    () => 5_000_000,
    () => tick,
  );
  const saw = (at: number, tookMs = 0, more: Partial<ClockReading> = {}): number => {
    clock.saw({ at, sentTick: tick - tookMs, receivedTick: tick, isOfReference: true, ...more });
    return clock.now();
  };
  return { clock, saw };
}

test('the clock of the machine counts until the first read, and a monotonic clock between two reads that did not wait', () => {
  const { clock, saw } = made();
  expect(clock.now()).toBe(5_000_000);
  expect(saw(9_000_000)).toBe(9_000_000);
  tick += 3000;
  expect(clock.now()).toBe(9_003_000);
  // Redis read its clock at 9,000,500 while the answer waited for 2.5 s.
  saw(9_000_500, 2600);
  expect(Math.abs(clock.now() - 9_003_000)).toBeLessThanOrEqual(3);
});

test('clocks that drift stay together', () => {
  const { clock, saw } = made();
  saw(9_000_000, 4);
  for (let second = 1; second <= 1000; second++) {
    tick += 1000;
    saw(9_000_000 + second * 1000.5 - 2, 4);
  }
  expect(Math.abs(clock.now() - (9_000_000 + 1000 * 1000.5))).toBeLessThanOrEqual(6);
});

test.each([-3_600_000, 3_600_000])('a clock of Redis that was set by %i ms counts from the next read on', (by) => {
  const { saw } = made();
  saw(9_000_000, 10);
  tick += 1000;
  expect(Math.abs(saw(9_001_000 + by) - (9_001_000 + by))).toBeLessThanOrEqual(1);
});

test('of a Cluster the primary of the lowest slot counts, and another one until it is known', () => {
  const { clock, saw } = made();
  const elsewhere = { isOfReference: false };
  expect(saw(7_000_000, 0, elsewhere)).toBe(7_000_000);
  expect(saw(9_000_000)).toBe(9_000_000);
  expect(saw(7_000_000, 0, elsewhere)).toBe(9_000_000);
  tick += 60_000;
  expect(clock.now()).toBe(9_060_000);
});
