import type { Metrics } from '../../server/metrics.ts';
import { entryLetters } from './model.ts';

/** The operations that this process has applied, and their coins, by the type of the ledger's entry. Replays do not count. */
export class CoinTotals {
  readonly #byLetter = new Map<string, { operations: number; coins: number }>();

  constructor(metrics: Metrics) {
    const types = Object.entries(entryLetters);
    for (const [, letter] of types) this.#byLetter.set(letter, { operations: 0, coins: 0 });
    const counts = (of: 'operations' | 'coins') => () => types.map(([type, letter]) => [type, this.#byLetter.get(letter)![of]] as const);
    metrics.countBy({
      name: 'coinop_coin_operations_total',
      help: 'Coin operations applied, by type of the ledger entry, without replays.',
      label: 'type',
      counts: counts('operations'),
    });
    metrics.countBy({
      name: 'coinop_coins_total',
      help: 'Coins of the operations applied, by type of the ledger entry: debits take them out, merges move them, all others bring them in.',
      label: 'type',
      counts: counts('coins'),
    });
  }

  /** @param operation the type's letter and the coins, as a ledger entry has them: `d-30` */
  applied(operation: string): void {
    const total = this.#byLetter.get(operation[0]!)!;
    total.operations++;
    total.coins += Math.abs(Number(operation.slice(1)));
  }
}
