export const moveKeys = {
  /** The queue of moves under way: sorted sets of `<guest id> <account id> <move id>` by time. */
  unfinished: 'moves:due',
  /** A string: the state or the outcome of a move into the account (`open-move.lua`). */
  record: (accountId: string, moveId: string) => `{${accountId}}:move:${moveId}`,
  /**
   * A list: the copy of the guest's ledger while the move is open. The names of the buckets of its index are made from this name, as for
   * any ledger.
   */
  stagedLedger: (accountId: string, moveId: string) => `{${accountId}}:move:${moveId}:ledger`,
};

/** The reason why a guest did not move. The first two reasons are known before the move begins; the account decides the other two. */
export const notMovedReasons = ['not_a_guest', 'from_pairing', 'too_many_guests', 'balance_limit'] as const;
export type NotMovedReason = (typeof notMovedReasons)[number];

/** The account that a guest moves into. */
export interface MoveTarget {
  readonly accountId: string;
  readonly store: string;
}

/**
 * The account was banned or deleted after the guest was frozen. The sign-in then reports the ban, or opens a new account in place of the
 * deleted one.
 */
type ClosedMeanwhile = 'account_banned' | 'account_deleted';

export type Moved =
  | { moved: true; created: boolean; coins: number; generation: string; balanceAfter: number }
  | { moved: false; reason: NotMovedReason | ClosedMeanwhile };
