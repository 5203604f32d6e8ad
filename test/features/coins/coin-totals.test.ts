import { expect, test } from 'vitest';
import { CoinTotals } from '../../../src/features/coins/coin-totals.ts';
import { Metrics } from '../../../src/server/metrics.ts';

// test/features/health/metrics.test.ts counts the operations of clients.
test('coinop_debt_coins is what refunds took below 0 and was not paid back, also where a guest brings its debt', async () => {
  const metrics = new Metrics();
  const totals = new CoinTotals(metrics);
  const figure = async (name: string) => Number(new RegExp(`^coinop_${name} (\\S+)$`, 'm').exec(await metrics.registry.metrics())?.[1]);
  for (const [operation, balanceAfter, owed] of [
    ['r-50', -30, 30],
    ['r-20', 5, 30],
    ['c10', -20, 20],
    ['t50', 30, 0],
    ['r-40', -40, 40],
  ] as const) {
    totals.applied(operation, balanceAfter);
    expect([operation, await figure('debt_coins')]).toEqual([operation, owed]);
  }
  for (const [coins, balanceAfter, owed] of [
    // The account had 15 coins, and paid 15 of the guest's debt.
    [-40, -25, 25],
    // The account owed 25, and the guest brought 20.
    [20, -5, 5],
    [0, -5, 5],
  ] as const) {
    totals.merged(coins, balanceAfter);
    expect([coins, await figure('debt_coins')]).toEqual([coins, owed]);
  }
  totals.applied('a-7', 1e12);
  expect(await figure('coins_in_total{type="merge"}')).toBe(20);
  expect(await figure('coins_out_total{type="merge"}')).toBe(40);
  expect(await figure('coins_out_total{type="adjust"}')).toBe(7);
});
