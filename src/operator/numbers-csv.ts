import type { z } from 'zod';
import { ENTRY_TYPES } from '../features/coins/model.ts';
import { csvLine } from './csv.ts';
import type { NumbersOfDay } from './numbers-shapes.ts';

type Day = z.input<typeof NumbersOfDay>;

const counts = ['newAccounts', 'activeAccounts', 'movedAccounts', 'deletedAccounts', 'rooms', 'matches', 'prizes'] as const;

/** The columns of a product. */
const ofProduct = ['store', 'productId', 'sold', 'boughtCoins', 'refundedCoins'] as const;

/** A line for each day, or for each product of each day, the oldest first. Every type of ledger entry has its columns. */
export function numbersCsv(days: readonly Day[], of: 'days' | 'products'): string {
  const head =
    of === 'products'
      ? ['day', ...ofProduct]
      : ['day', ...ENTRY_TYPES.map((type) => `in_${type}`), ...ENTRY_TYPES.map((type) => `out_${type}`), ...counts];
  const lines =
    of === 'products'
      ? days.flatMap(({ day, products }) => products.map((product) => [day, ...ofProduct.map((name) => product[name])]))
      : days.map((each) => [
          each.day,
          ...[each.coinsIn, each.coinsOut].flatMap((coins) => ENTRY_TYPES.map((type) => coins[type] ?? 0)),
          ...counts.map((name) => each[name]),
        ]);
  return [head, ...lines].map(csvLine).join('');
}
