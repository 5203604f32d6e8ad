import type { Granted } from '../grants.ts';
import type { GrantTakenBack } from '../take-backs.ts';

/** The lines of a change to many accounts with their outcomes, for the tool and for the page. */

/** A change to many accounts. */
export interface BulkKind {
  readonly operation: 'coins grant' | 'coins take-back';
  /** The outcome of an account that the change was made to. */
  readonly done: 'granted' | 'taken';
  /** In a report, the outcome of an account that the change can be made to. */
  readonly waiting: 'to_grant' | 'to_take';
  /** In a report, the outcome of an account to which the change did not come. */
  readonly missed: 'not_granted' | 'not_taken';
}

export const bulkGrant: BulkKind = { operation: 'coins grant', done: 'granted', waiting: 'to_grant', missed: 'not_granted' };

export const bulkTakeBack: BulkKind = { operation: 'coins take-back', done: 'taken', waiting: 'to_take', missed: 'not_taken' };

export interface NamedAccount {
  readonly line: number;
  readonly accountId: string;
}

/** What the service answers for an account. */
export type BulkResult = Omit<Granted, 'outcome'> & Omit<GrantTakenBack, 'outcome'> & Pick<Granted | GrantTakenBack, 'outcome'>;

/**
 * `waiting`: the change can be made to the account. `repeated`: an earlier line names the same account, directly or by a guest that moved
 * into the account.
 */
export type RowOutcome = BulkResult['outcome'] | 'waiting' | 'repeated';

export interface BulkRow extends NamedAccount, Pick<BulkResult, 'balanceAfterCoins' | 'movedTo' | 'code'> {
  outcome: RowOutcome;
  /** The coins that the account gets or gives back. */
  coins: number;
  /** The earlier line of a repeated line. */
  repeats?: number;
}

export class BulkRows {
  readonly all: readonly BulkRow[];
  readonly #kind: BulkKind;
  readonly #lineOf = new Map<string, number>();

  /** @param coins for each account, if they are known before the service is asked */
  constructor(accounts: readonly NamedAccount[], kind: BulkKind, coins = 0) {
    this.all = accounts.map(({ line, accountId }) => ({ line, accountId, outcome: 'waiting', coins }));
    this.#kind = kind;
  }

  of(wanted: RowOutcome): BulkRow[] {
    return this.all.filter(({ outcome }) => outcome === wanted);
  }

  /** Stores the previews of rows, in the order of the lines. */
  preview(rows: readonly BulkRow[], previews: readonly BulkResult[]): void {
    for (const [index, row] of rows.entries()) {
      const { outcome, movedTo, code, grantedTo, takenCoins = row.coins } = previews[index]!;
      const account = grantedTo ?? movedTo ?? row.accountId;
      const repeats = this.#lineOf.get(account);
      if (repeats === undefined) this.#lineOf.set(account, row.line);
      const shown = repeats !== undefined ? 'repeated' : outcome === this.#kind.done ? 'waiting' : outcome;
      Object.assign(row, { outcome: shown, movedTo, code, repeats, coins: takenCoins });
    }
  }

  /** Takes the outcomes of the change to rows. */
  take(rows: readonly BulkRow[], results: readonly BulkResult[]): void {
    for (const [index, row] of rows.entries()) {
      const { outcome, balanceAfterCoins, movedTo, code, takenCoins = row.coins } = results[index]!;
      Object.assign(row, { outcome, balanceAfterCoins, movedTo, code, coins: takenCoins });
    }
  }

  /** The cells of the report, with a line of column names in front. @param waiting the outcome of rows that the change has not come to */
  report(waiting: string): (string | number | undefined)[][] {
    const { done } = this.#kind;
    return [
      ['line', 'accountId', 'outcome', 'coins', 'balanceAfterCoins', 'movedTo', 'detail'],
      ...this.all.map(({ line, accountId, outcome, coins, balanceAfterCoins, movedTo, code, repeats }) => [
        ...[line, accountId, outcome === 'waiting' ? waiting : outcome],
        ...[outcome === done || outcome === 'replayed' ? coins : undefined, balanceAfterCoins, movedTo],
        repeats === undefined ? code : `line ${repeats}`,
      ]),
    ];
  }
}

export const coinsOf = (rows: readonly BulkRow[]): number => rows.reduce((sum, { coins }) => sum + coins, 0);
