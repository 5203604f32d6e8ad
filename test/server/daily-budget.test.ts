import { beforeEach, describe, expect, test } from 'vitest';
import { DailyBudget } from '../../src/server/daily-budget.ts';
import { OwnReservations, type Daily, type Granted } from '../../src/server/reservations.ts';
import { all } from './connection-lines.ts';

const DAY_MS = 86_400_000;

let now: number;
beforeEach(() => void (now = 5000));

/** The primary's side, which answers each worker a turn of the event loop later and counts the questions. */
class Primary extends OwnReservations {
  questions = 0;
  readonly givenBack = new Map<string, number>();
  constructor(perDay: number) {
    super({ perMinute: undefined, sockets: 1, perDay: { entries: perDay, saveBytes: perDay } }, () => now);
  }
  worker(perDay: number): DailyBudget {
    const takeDaily = async (kind: Daily, group: string, least: number, most: number): Promise<Granted> => {
      this.questions++;
      return this.takeDaily(kind, group, least, most);
    };
    const giveBackDaily = (kind: Daily, group: string, count: number): void => {
      this.givenBack.set(group, count);
      this.giveBackDaily(kind, group, count);
    };
    const reservations = { take: () => 0, giveBack() {}, spend() {}, takeDaily, giveBackDaily };
    return new DailyBudget('entries', perDay, reservations);
  }
}

/** How many of so many calls at once may pass. */
const passed = async (calls: number, take: (index: number) => number | Promise<number>) =>
  (await all(calls, async (index) => take(index))).filter((waitMs) => waitMs === 0).length;

describe('the budget of ledger entries', () => {
  test('never lets more through over several workers, and refuses at most a thousandth per worker too early', async () => {
    const primary = new Primary(100_000);
    const workers = Array.from({ length: 4 }, () => primary.worker(100_000));
    let sum = 0;
    for (let round = 0; round < 130; round++) sum += await passed(1000, (index) => workers[(index * 7) % 4]!.take('a'));
    expect(sum).toBeLessThanOrEqual(100_000);
    expect(sum).toBeGreaterThan(100_000 - 4 * 100);
  });

  test('of many units at once lets no more through than it has, at once or not, and fewer units after a refusal', async () => {
    const primary = new Primary(100_000);
    const workers = Array.from({ length: 2 }, () => primary.worker(100_000));
    expect(await passed(50, (index) => workers[index % 2]!.take('a', 3000))).toBe(33);
    expect([await workers[0]!.take('a', 3000), await workers[0]!.take('a', 900)]).toEqual([2000 * (DAY_MS / 100_000), 0]);
    workers[0]!.giveBack('a', 3000);
    expect(await workers[1]!.take('a', 3000)).toBe(0);
    expect(await workers[1]!.take('b', 100_001)).toBeGreaterThan(0);
  });

  test('costs a worker one question in a hundred entries, at once or not, and none for replays', async () => {
    const primary = new Primary(100_000);
    const worker = primary.worker(100_000);
    for (let index = 0; index < 10_000; index++) await worker.take('a');
    expect(primary.questions).toBe(100);
    for (let index = 0; index < 1000; index++) {
      await worker.take('b');
      worker.giveBack('b');
    }
    expect(primary.questions).toBe(101);
    expect(await passed(1000, async () => worker.take('c'))).toBe(1000);
    expect(primary.questions).toBe(111);
  });

  test('a process that forgets addresses gives the rest of their bundles back, a few at a time; an address without rest stays known', async () => {
    const primary = new Primary(2000);
    const worker = primary.worker(2000);
    await worker.take('a');
    for (let index = 0; index < 2000; index++) await worker.take('used up');
    let most = 0;
    for (let index = 0; index < 150_000; index++) {
      const before = primary.givenBack.size;
      await worker.take(`b${index}`);
      most = Math.max(most, primary.givenBack.size - before);
    }
    expect(primary.givenBack.get('a')).toBe(1);
    expect(primary.givenBack.size).toBeGreaterThanOrEqual(50_000);
    expect(most).toBeLessThanOrEqual(4);
    expect(await worker.take('used up')).toBe(DAY_MS / 2000);
  });

  test('reports each address that used up a hundredth of it once, those with the most entries first', () => {
    const budget = new DailyBudget('entries', 10_000, new Primary(10_000));
    const take = (group: string, times: number) => Array.from({ length: times }, () => budget.take(group));
    take('light', 90);
    take('busy', 300);
    take('busiest', 505);
    expect(budget.grown()).toEqual([
      { group: 'busiest', count: 505 },
      { group: 'busy', count: 300 },
    ]);
    for (const { group, count } of budget.grown()) budget.told(group, count);
    expect(budget.grown()).toEqual([]);
    take('busy', 7);
    budget.giveBack('busy');
    expect(budget.grown()).toEqual([{ group: 'busy', count: 6 }]);
  });
});
