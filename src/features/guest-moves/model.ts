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
  /**
   * For a guest: the provider of the sign-in that it moves with (`Provider.key`), with which a new account begins. `-`: the guest is an
   * account with sign-ins, which is merged. `+` and a provider: it is a sign-in that was never used, which is added.
   */
  readonly store: string;
}

/** The target of an account that is merged into another one. */
export const mergedInto = (accountId: string): MoveTarget => ({ accountId, store: '-' });

/** The target of a sign-in that is added to an account. @param provider the provider's part of accounts' ids */
export const addedTo = (accountId: string, provider: string): MoveTarget => ({ accountId, store: `+${provider}` });

/**
 * The account was banned or deleted, or moved itself, after the guest was frozen. The sign-in then reports the ban, or opens a new account in place of the
 * deleted one.
 */
type ClosedMeanwhile = 'account_banned' | 'account_deleted' | 'account_moved';

/** The sign-in that is added was used meanwhile, or that with which the account is merged was removed from it. */
type ChangedMeanwhile = 'used' | 'not_its_sign_in';

export type Moved =
  | { moved: true; created: boolean; coins: number; generation: string; balanceAfter: number }
  | { moved: false; reason: NotMovedReason | ClosedMeanwhile | ChangedMeanwhile };
