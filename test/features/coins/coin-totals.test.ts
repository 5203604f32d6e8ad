import { expect, test } from 'vitest';
import { CoinTotals } from '../../../src/features/coins/coin-totals.ts';
import { entryLetters } from '../../../src/features/coins/model.ts';
import { Metrics } from '../../../src/server/metrics.ts';

test('coin totals count each type of entry, and tell coins that come in from coins that go out', async () => {
  const metrics = new Metrics();
  const totals = new CoinTotals(metrics);
  for (const operation of ['g10', 'g1000000', 'a5', 'a-7', 'd-3', 'm1000000000000', 'm999999999999']) totals.applied(operation, 1e12);
  const text = await metrics.registry.metrics();
  const of = (name: string): Record<string, number> =>
    Object.fromEntries(
      [...text.matchAll(new RegExp(`^coinop_${name}_total\\{type="(\\w+)"\\} (\\S+)$`, 'gm'))].map(([, type, value]) => [
        type,
        Number(value),
      ]),
    );
  const none = Object.fromEntries(Object.keys(entryLetters).map((type) => [type, 0]));
  expect(of('coin_operations')).toEqual({ ...none, grant: 2, adjust: 2, debit: 1, merge: 2 });
  expect(of('coins_in')).toEqual({ ...none, grant: 1_000_010, adjust: 5, merge: 1_999_999_999_999 });
  expect(of('coins_out')).toEqual({ ...none, adjust: 7, debit: 3 });
});

test('coinop_debt_coins is what refunds took below 0 and was not paid back, also where a guest brings its debt', async () => {
  const metrics = new Metrics();
  const totals = new CoinTotals(metrics);
  const owed = async () => Number(/^coinop_debt_coins (\S+)$/m.exec(await metrics.registry.metrics())?.[1]);
  expect(await owed()).toBe(0);
  totals.applied('r-50', -30);
  totals.applied('r-20', 5);
  expect(await owed()).toBe(30);
  totals.applied('c10', -20);
  expect(await owed()).toBe(20);
  totals.applied('t50', 30);
  expect(await owed()).toBe(0);
  totals.applied('r-40', -40);
  // The account had 15 coins, and paid 15 of the guest's debt.
  totals.merged(-40, -25);
  expect(await owed()).toBe(25);
  // The account owed 25, and the guest brought 20.
  totals.merged(20, -5);
  expect(await owed()).toBe(5);
  totals.merged(0, -5);
  expect(await owed()).toBe(5);
});
