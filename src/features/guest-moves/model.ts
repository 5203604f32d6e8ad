export const moveKeys = {
  /** The queue of moves under way: sorted sets of members `<guest id> <account id> <move id>`, by the time at which each is due. */
  unfinished: 'moves:due',
  /** A string: the state or the outcome of a move into the account (`open-move.lua`). */
  record: (accountId: string, moveId: string) => `{${accountId}}:move:${moveId}`,
  /**
   * A list: the copy of the guest's ledger while the move is open. As for any ledger, the names of the buckets of its index are made from
   * its name.
   */
  stagedLedger: (accountId: string, moveId: string) => `{${accountId}}:move:${moveId}:ledger`,
};

/** The reason why a guest did not move. The first two reasons are found before the move begins. The other two are the account's bounds. */
export const notMovedReasons = ['not_a_guest', 'from_pairing', 'too_many_guests', 'balance_limit'] as const;
export type NotMovedReason = (typeof notMovedReasons)[number];

/** The account that a guest moves into. */
export interface MoveTarget {
  readonly accountId: string;
  /**
   * For a guest: the provider (`Provider.key`) of the sign-in with which it moves. If the account is new, this sign-in becomes its first.
   * `-`: an account with sign-ins is merged into the account. `+` and a provider: a sign-in that was never used is added to the account.
   */
  readonly store: string;
}

/** The target of an account that is merged into another one. */
export const mergedInto = (accountId: string): MoveTarget => ({ accountId, store: '-' });

/** The target of a sign-in that is added to an account. @param provider the `Provider.key`, from which account ids are computed */
export const addedTo = (accountId: string, provider: string): MoveTarget => ({ accountId, store: `+${provider}` });

/**
 * After the guest was frozen, the account was banned or deleted, or moved itself. The sign-in then reports the ban, or opens a new account
 * in place of the deleted one.
 */
type ClosedMeanwhile = 'account_banned' | 'account_deleted' | 'account_moved';

/**
 * `used`: somebody has used the sign-in that was to be added. `not_its_sign_in`: the sign-in with which the account was to be merged has
 * been removed from it.
 */
type ChangedMeanwhile = 'used' | 'not_its_sign_in';

export type Moved =
  | { moved: true; created: boolean; coins: number; generation: string; balanceAfter: number }
  | { moved: false; reason: NotMovedReason | ClosedMeanwhile | ChangedMeanwhile };
