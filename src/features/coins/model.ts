import { z } from 'zod';
import { OptionalInstallId } from '../../accounts/ids.ts';
import type { Config } from '../../config.ts';
import type { Probe } from '../../consistency/auditor.ts';
import { DATA_VERSION } from '../../redis/data/data-version.ts';
import { defineLibrary } from '../../redis/script.ts';
import {
  base36,
  defineFormat,
  integer,
  letter,
  letters,
  optional,
  padded,
  rest,
  whole,
  word,
  type Parsed,
} from '../../redis/text-format.ts';

/** The Redis key of the secret of the hashes of idempotency keys, for features whose findings name it. */
export { KEY_SECRET } from './secret-keys.ts';

/** The number of ledger entries after which the index of the ledger grows by one bucket. */
export const ENTRIES_PER_BUCKET = 32;

/** The highest balance of an account, in coins. */
export const MAX_BALANCE = 1e12;

/**
 * The lowest balance of an account, in coins. Only a refund of coins that were bought with money, and a grant that an operator takes back,
 * can take a balance below 0, which is a debt.
 */
export const MIN_BALANCE = -MAX_BALANCE;

const COINS_RULE = 'Must be a whole number from 1 to 1,000,000';

export const Coins = z
  .number(COINS_RULE)
  .int({ error: COINS_RULE, abort: true })
  .min(1, COINS_RULE)
  .max(1_000_000, COINS_RULE)
  .meta({ description: 'Whole coins, 1 to 1,000,000.', example: 10 });

export const CoinKey = z
  .string()
  .regex(/^[\x20-\x7e]{1,255}$/, 'Must be 1 to 255 printable ASCII characters')
  .meta({ description: 'Idempotency key of the operation, unique in the account across credit, purchase and debit.', example: 'level-7' });

/** The `nextCursor` of a page of a ledger, as `history.lua` writes it. */
export const LedgerCursor = z
  .string()
  .regex(/^[1-9]\d{0,14}(\.[1-9]\d{0,14}){0,999}(~(\d{18})?~\d{1,3})?$/, 'Must be the nextCursor of an earlier page');

export const BalanceCoins = z.number().int().min(0).max(MAX_BALANCE).meta({ example: 110 });

/** The debt of an account. A reply shows it with a `balanceCoins` of 0. */
export const DebtCoins = z.number().int().min(1).max(-MIN_BALANCE).optional().meta({
  description: 'Coins that the account owes after a refund. Left out if there is no debt. Coins that come in pay the debt first.',
  example: 30,
});

/** The balance in a ledger entry: one number, which is below 0 for a debt. */
export const SignedBalance = z
  .number()
  .int()
  .min(MIN_BALANCE)
  .max(MAX_BALANCE)
  .meta({ description: 'The balance right after the entry. A balance below 0 is a debt.', example: 110 });

/** The fields of a reply that show a balance of the ledger. */
export function shownBalance(balance: number): { balanceCoins: number; debtCoins?: number } {
  return balance < 0 ? { balanceCoins: 0, debtCoins: -balance } : { balanceCoins: balance };
}

export const CoinOperationBody = z.object({ installId: OptionalInstallId, coins: Coins, key: CoinKey });

export const CoinOperationReply = z
  .object({
    balanceAfterCoins: BalanceCoins.meta({ description: 'The balance right after the operation. In a replay, the original balance.' }),
    replayed: z
      .literal(true)
      .optional()
      .meta({ description: 'True if the key was used before, so that the operation was not applied again.' }),
    balanceCoins: BalanceCoins.optional().meta({ description: 'In a replay, the balance now.' }),
    debtCoins: DebtCoins,
  })
  .meta({ id: 'CoinOperationReply', example: { balanceAfterCoins: 110 } });

/** Whether the operation appended an entry. A replay appends none. */
export const isApplied = ({ replayed }: z.input<typeof CoinOperationReply>): boolean => replayed !== true;

/** Entries that the service itself makes: for coins bought with money, for refunded coins, for a season's prize. */
export type ServiceEntryType = 'topup' | 'refund' | 'prize';

/**
 * The types of ledger entries. A `grant` is a credit by a server key, or by an operator who credits many accounts. An `adjust` is a
 * correction by an operator.
 */
export type EntryType = 'credit' | 'purchase' | 'debit' | 'merge' | 'grant' | 'adjust' | ServiceEntryType;

/**
 * The letter of each type in a ledger. Each type has a single letter, because a ledger of a million entries stores each byte a million
 * times.
 */
export const entryLetters = {
  credit: 'c',
  purchase: 'p',
  debit: 'd',
  merge: 'm',
  grant: 'g',
  adjust: 'a',
  topup: 't',
  refund: 'r',
  prize: 'w',
} as const satisfies Record<EntryType, string>;

export const ENTRY_TYPES = Object.keys(entryLetters) as EntryType[];

export const DAY_MS = 86_400_000;

/** The UTC day: `2026-11-22`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

export const coinKeys = {
  ledger: (accountId: string) => `{${accountId}}:ledger`,
  /** Prefix of the buckets `…0`, `…1`, … that find a ledger entry by its idempotency key. */
  index: (accountId: string) => `{${accountId}}:index:`,
  /**
   * A hash: the operations of the guests that moved into the account with small ledgers, by idempotency key (`file_guest` of `ledger.lua`).
   */
  guestKeys: (accountId: string) => `{${accountId}}:keys:guests`,
  /** The ledger of a guest that moved into the account. Its Redis key has the account's tag. */
  guestLedger: (accountId: string, guestId: string) => `{${accountId}}:guest:${guestId}:ledger`,
  /** A counter: the coins that credits and purchases of clients added to the account on the UTC day of `at`. */
  credited: (accountId: string, at: number) => coinKeys.creditedOn(accountId, dayOf(at)),
  creditedOn: (accountId: string, day: string) => `{${accountId}}:credited:${day}`,
};

/**
 * Key of the payouts of a season, by player id. Only this record tells whether a prize was paid. The feature `highscores` writes it.
 */
export const payoutsKey = (game: string, season: string): string => `{board:${game}}:season:${season}:payouts`;

export const seasonPayout = defineFormat('payout', '<accountId> <coins>[ <outcome>]', {
  /** The account that won the prize. `-` for a deleted account. */
  accountId: word,
  coins: whole,
  /** `paid`, or the reason why the prize was not paid. Undefined while the prize is not paid yet. */
  outcome: optional(letters),
});

/** An entry of a ledger. `ledger.lua` describes ledgers. */
export const ledgerEntry = defineFormat('entry', '<seq>:<balance> <letter><coins> <at>[~<origin>] <key>', {
  seq: whole,
  /** The balance after the entry. */
  balance: integer,
  /** The letter of the entry's type, by `entryLetters`. */
  letter,
  /** The coins that the entry adds to the balance. A debit's coins are negative. */
  coins: integer,
  /** When the entry was written, in milliseconds since 1970. */
  at: base36,
  /**
   * The server key or the operator that made the entry (`entry-origin.ts`). Undefined for an entry of a client, of a move, or of the
   * service itself.
   */
  origin: optional(word),
  key: rest,
});

export type LedgerEntry = Parsed<typeof ledgerEntry>;

/** The name of a sum of an entry's coins: the number of the UTC day, and the name of the day's counter: `20786 -d` (`ledger.lua`). */
export const coinSumOf = ({ at, letter: of, coins }: Pick<LedgerEntry, 'at' | 'letter' | 'coins'>): string =>
  `${Math.floor(at / DAY_MS)} ${coins < 0 ? '-' : '+'}${of}`;

/** Adds up the coins of the entries of all ledgers, for the check of the counters of days (`features/numbers/`). */
export interface CoinSums {
  /** Must be awaited before the entries of a ledger are read. */
  begin(probe: Probe): Promise<void>;
  /**
   * Adds the coins of a ledger. A ledger that was added before is not added again.
   * @param sums by `coinSumOf`
   */
  add(ledger: string, sums: ReadonlyMap<string, number>, oldestAt: number): void;
}

/**
 * A member of the sorted set that has the entries of guests with small ledgers by time (`file_guest` of `ledger.lua`). Read backwards, the
 * set has the order of the history. Of the entries with the same time, those of the guest that moved first come first, because `turn` is
 * 999 minus the guest's number.
 */
export const filedEntry = defineFormat('filed_entry', '<turn><seq>', { turn: padded(3), seq: padded(15) });

/**
 * The guest with a certain number whose small ledger is filed (`file_guest` of `ledger.lua`): its account id, and the seq of its last
 * entry.
 */
export const filedGuest = defineFormat('filed_guest', '<id> <lastSeq>', { id: word, lastSeq: whole });

/**
 * An operation of a guest whose small ledger is filed (`file_guest` of `ledger.lua`). An idempotency key may have several operations, of
 * different guests or of different kinds.
 */
export const filedOperation = defineFormat('filed_operation', '<letter><coins> <balance>\n', { letter, coins: integer, balance: integer });

/** Lua functions for every script that changes a balance. */
export const ledgerLibrary = defineLibrary(new URL('ledger.lua', import.meta.url), {
  formats: [ledgerEntry, filedEntry, filedGuest, filedOperation],
  constants: { DATA_VERSION: String(DATA_VERSION), DAY_MS, ENTRIES_PER_BUCKET, MAX_BALANCE, MIN_BALANCE },
});

/** Lua functions for scripts that delete a ledger and its index. They need `ledgerLibrary` too. */
export const eraseLibrary = defineLibrary(new URL('erase-part.lua', import.meta.url));

/** A line for the log and for `/ready` that says who can credit coins: server keys only, or every client. */
export function whoMintsCoins({
  COIN_AUTHORITY,
  CREDIT_DAILY_CAP,
  REQUIRE_INSTALL_PROOF,
}: Pick<Config, 'COIN_AUTHORITY' | 'CREDIT_DAILY_CAP' | 'REQUIRE_INSTALL_PROOF'>): string {
  if (COIN_AUTHORITY === 'server') return 'server: only server keys with the scope coins, and operators, can mint coins';
  const proven = REQUIRE_INSTALL_PROOF.includes('credit') ? ' of a proven install' : '';
  const capped = CREDIT_DAILY_CAP === 0 ? '' : `, up to ${CREDIT_DAILY_CAP} a UTC day`;
  return `client: every client${proven} can mint coins for its own account${capped}`;
}
