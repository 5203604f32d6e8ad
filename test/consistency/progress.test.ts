import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Progress } from '../../src/consistency/progress.ts';
import { newCounts } from '../../src/consistency/counts.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A quarter of the keys after ten seconds. */
function progressOn(stream: { isTTY: boolean; columns: number }): { written: string[]; progress: Progress } {
  const written: string[] = [];
  const counts = { ...newCounts(), keys: 1000, keysInAll: 4000, checked: { accounts: 1500 }, drift: 2 };
  const write = (text: string): boolean => written.push(text) > 0;
  return { written, progress: new Progress(counts, { ...stream, write }) };
}

test('on a terminal a bar shows the share, the accounts a second, the time left and the findings', () => {
  const { written, progress } = progressOn({ isTTY: true, columns: 200 });
  vi.advanceTimersByTime(10_000);
  expect(written.at(-1)).toBe('\r\u001B[K██████░░░░░░░░░░░░░░░░░░ 25 %, 1,500 accounts, 150 a second, 0:30 left, 2 findings');
  progress.close();
  expect(written.at(-1)).toBe('\r\u001B[K');
});

test('in a log the first line comes after two seconds, and another every five', () => {
  const { written, progress } = progressOn({ isTTY: false, columns: 80 });
  vi.advanceTimersByTime(1900);
  expect(written).toEqual([]);
  vi.advanceTimersByTime(10_200);
  progress.close();
  vi.advanceTimersByTime(10_000);
  expect(written).toHaveLength(3);
  expect(written[2]).toMatch(/^audit: 25 %, 1,500 accounts, \d+ a second, 0:3\d left, 2 findings\n$/);
});
