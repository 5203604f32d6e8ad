import type { Granted } from '../grants.ts';

/** The lines of a bulk grant with their outcomes, for the tool and for the page. */

export interface NamedAccount {
  readonly line: number;
  readonly accountId: string;
}

/** `to_grant`: the account can get the coins. `repeated`: an earlier line names the same account, directly or by a guest that moved into it. */
export type RowOutcome = Granted['outcome'] | 'to_grant' | 'repeated';

export interface GrantRow extends NamedAccount, Pick<Granted, 'balanceAfterCoins' | 'movedTo' | 'code'> {
  outcome: RowOutcome;
  /** The earlier line of a repeated line. */
  repeats?: number;
}

export class GrantRows {
  readonly all: readonly GrantRow[];
  readonly #lineOf = new Map<string, number>();

  constructor(accounts: readonly NamedAccount[]) {
    this.all = accounts.map(({ line, accountId }) => ({ line, accountId, outcome: 'to_grant' }));
  }

  of(wanted: RowOutcome): GrantRow[] {
    return this.all.filter(({ outcome }) => outcome === wanted);
  }

  /** Takes the previews of rows, in the order of the lines. */
  preview(rows: readonly GrantRow[], previews: readonly Granted[]): void {
    for (const [index, row] of rows.entries()) {
      const { outcome, movedTo, code } = previews[index]!;
      const account = movedTo ?? row.accountId;
      const repeats = this.#lineOf.get(account);
      if (repeats === undefined) this.#lineOf.set(account, row.line);
      const shown = repeats !== undefined ? 'repeated' : outcome === 'granted' ? 'to_grant' : outcome;
      Object.assign(row, { outcome: shown, movedTo, code, repeats });
    }
  }

  /** Takes the outcomes of grants to rows. */
  grant(rows: readonly GrantRow[], results: readonly Granted[]): void {
    for (const [index, row] of rows.entries()) {
      const { outcome, balanceAfterCoins, movedTo, code } = results[index]!;
      Object.assign(row, { outcome, balanceAfterCoins, movedTo, code });
    }
  }

  /** The cells of the report, with a line of names in front. @param waiting the outcome of rows that got no coins yet */
  report(waiting: string): (string | number | undefined)[][] {
    return [
      ['line', 'accountId', 'outcome', 'balanceAfterCoins', 'movedTo', 'detail'],
      ...this.all.map(({ line, accountId, outcome, balanceAfterCoins, movedTo, code, repeats }) => [
        ...[line, accountId, outcome === 'to_grant' ? waiting : outcome, balanceAfterCoins, movedTo],
        repeats === undefined ? code : `line ${repeats}`,
      ]),
    ];
  }
}
