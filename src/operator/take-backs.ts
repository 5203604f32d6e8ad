import { ACCOUNT_ID } from '../accounts/ids.ts';
import { nameOfOperator, originOfOperator } from '../features/coins/entry-origin.ts';
import { shownBalance } from '../features/coins/model.ts';
import { takeBackGrant } from '../features/coins/take-back.ts';
import { movedTo, type GrantTerms } from './grants.ts';
import type { OperatorServices } from './operation.ts';

/** Grants that are taken back: the endpoint and the tool share them. */

export const takeBackOutcomes = ['taken', 'replayed', 'deleted', 'no_grant'] as const;

export interface GrantTakenBack {
  readonly outcome: (typeof takeBackOutcomes)[number];
  /** Of `taken`: may be 0. Of `replayed`: what was taken then. */
  readonly takenCoins?: number;
  readonly grantedCoins?: number;
  /** The balance now. */
  readonly balanceAfterCoins?: number;
  readonly debtCoins?: number | undefined;
  /** For a guest that moved: the account that has the entry. */
  readonly movedTo?: string;
  /** The account that was granted the coins. */
  readonly grantedTo?: string;
}

/** The terms of the grant, and how far it is taken back. */
export interface TakeBackTerms extends GrantTerms {
  /** Whether an account owes the coins that it has spent. */
  readonly intoDebt: boolean;
}

/**
 * Takes back what operators granted to a group of accounts under a key, once for each grant.
 * @param group at most `GRANT_GROUP` of grant-pace.ts
 * @param onlyAsks changes nothing
 * @throws Error of Redis: some accounts may have given the coins back. Repeat it for the rest
 */
export function takeBackGroup(
  group: readonly string[],
  { key, intoDebt, reason, by }: TakeBackTerms,
  services: OperatorServices,
  onlyAsks = false,
): Promise<GrantTakenBack[]> {
  const origin = originOfOperator({ by: nameOfOperator(by), reason });
  return Promise.all(
    group.map(async (asked): Promise<GrantTakenBack> => {
      if (!ACCOUNT_ID.test(asked)) return { outcome: 'no_grant' };
      const done = await takeBackGrant(asked, { key, intoDebt, origin }, services, onlyAsks);
      const moved = movedTo(done.accountId, asked);
      if (!('takenCoins' in done)) return { outcome: done.word === 'none' ? 'no_grant' : 'deleted', ...moved };
      const { word, takenCoins, grantedCoins, grantedTo, balance } = done;
      const { balanceCoins, debtCoins } = shownBalance(balance);
      return { outcome: word, takenCoins, grantedCoins, balanceAfterCoins: balanceCoins, debtCoins, ...moved, grantedTo };
    }),
  );
}
