import type { Metrics } from '../../server/metrics.ts';
import { entryLetters } from './model.ts';

/** The number of coin operations that this process has applied, and their coins, by type of the ledger entry. Replays are not counted. */
export class CoinTotals {
  readonly #byLetter = new Map<string, Total>();
  #debtCoins = 0;

  constructor(metrics: Metrics) {
    const types = Object.entries(entryLetters);
    for (const [, letter] of types) this.#byLetter.set(letter, { operations: 0, coinsIn: 0, coinsOut: 0 });
    const countBy = (name: string, help: string, of: keyof Total): void =>
      metrics.countBy({ name, help, label: 'type', counts: () => types.map(([type, letter]) => [type, this.#byLetter.get(letter)![of]]) });
    countBy('coinop_coin_operations_total', 'Coin operations applied, by type of the ledger entry, without replays.', 'operations');
    countBy(
      'coinop_coins_in_total',
      'Coins that operations brought into accounts, by type of the ledger entry. Those of type merge came from another account.',
      'coinsIn',
    );
    countBy('coinop_coins_out_total', 'Coins that operations took out of accounts, by type of the ledger entry.', 'coinsOut');
    metrics.gauge({
      name: 'coinop_debt_coins',
      help: 'Debts that refunds made since the start of the process, in coins, minus the debts that were paid back. Below 0 if older debts were paid.',
      value: () => this.#debtCoins,
    });
  }

  /**
   * @param operation the letter of the entry's type and the signed coins: `d-30`
   * @param balanceAfter below 0 for a debt
   */
  applied(operation: string, balanceAfter: number): void {
    const total = this.#byLetter.get(operation[0]!)!;
    const coins = Number(operation.slice(1));
    total.operations++;
    if (coins > 0) total.coinsIn += coins;
    else total.coinsOut -= coins;
    this.#debtCoins += debtOf(balanceAfter) - debtOf(balanceAfter - coins);
  }

  /**
   * Counts the coins that a guest brought into an account in a move. A guest's debt moves too, except for the part that is paid with the
   * account's coins.
   * @param coins the guest's balance
   */
  merged(coins: number, balanceAfter: number): void {
    if (coins === 0) return;
    this.applied(`${entryLetters.merge}${coins}`, balanceAfter);
    this.#debtCoins -= debtOf(coins);
  }
}

function debtOf(balance: number): number {
  return Math.max(0, -balance);
}

interface Total {
  operations: number;
  coinsIn: number;
  coinsOut: number;
}
