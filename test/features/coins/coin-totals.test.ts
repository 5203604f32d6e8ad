import { expect, test } from 'vitest';
import { CoinTotals } from '../../../src/features/coins/coin-totals.ts';
import { entryLetters } from '../../../src/features/coins/model.ts';
import { Metrics } from '../../../src/server/metrics.ts';

test('coin totals count each type of entry, and tell coins that come in from coins that go out', async () => {
  const metrics = new Metrics();
  const totals = new CoinTotals(metrics);
  for (const operation of ['g10', 'g1000000', 'a5', 'a-7', 'd-3', 'm1000000000000', 'm999999999999']) totals.applied(operation);
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
