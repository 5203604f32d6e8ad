import type { Metrics } from '../../server/metrics.ts';
import { entryLetters } from './model.ts';

/** The operations that this process has applied, and their coins, by the type of the ledger's entry. Replays do not count. */
export class CoinTotals {
  readonly #byLetter = new Map<string, Total>();

  constructor(metrics: Metrics) {
    const types = Object.entries(entryLetters);
    for (const [, letter] of types) this.#byLetter.set(letter, { operations: 0, coinsIn: 0, coinsOut: 0 });
    const countBy = (name: string, help: string, of: keyof Total): void =>
      metrics.countBy({ name, help, label: 'type', counts: () => types.map(([type, letter]) => [type, this.#byLetter.get(letter)![of]]) });
    countBy('coinop_coin_operations_total', 'Coin operations applied, by type of the ledger entry, without replays.', 'operations');
    countBy(
      'coinop_coins_in_total',
      'Coins that operations brought into accounts, by type of the ledger entry; merges moved them.',
      'coinsIn',
    );
    countBy('coinop_coins_out_total', 'Coins that operations took out of accounts, by type of the ledger entry.', 'coinsOut');
  }

  /** @param operation the type's letter and the signed coins, as a ledger entry has them: `d-30` */
  applied(operation: string): void {
    const total = this.#byLetter.get(operation[0]!)!;
    const coins = Number(operation.slice(1));
    total.operations++;
    if (coins > 0) total.coinsIn += coins;
    else total.coinsOut -= coins;
  }
}

interface Total {
  operations: number;
  coinsIn: number;
  coinsOut: number;
}
