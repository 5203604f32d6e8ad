import { z } from 'zod';
import { opensAccount } from '../../accounts/prologues.ts';
import { refuse, type Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import type { Caller } from '../../server/identity/caller.ts';
import type { Services } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import type { KeySecret } from './key-secret.ts';

/** The number of different hashes of a key, and so the most buckets of a ledger. ledger.lua has the same figure. */
export const HASH_RANGE = 65_536;

/** The highest balance of an account. The lowest is 0. */
export const MAX_BALANCE = 1e12;

const COINS_RULE = 'Must be a whole number from 1 to 1,000,000';

export const Coins = z
  .number(COINS_RULE)
  .int({ error: COINS_RULE, abort: true })
  .min(1, COINS_RULE)
  .max(1_000_000, COINS_RULE)
  .meta({ description: 'Whole coins, 1 to 1,000,000.' });

export const CoinKey = z
  .string()
  .regex(/^[\x20-\x7e]{1,255}$/, 'Must be 1 to 255 printable ASCII characters')
  .meta({ description: 'Idempotency key of the operation, unique in the account across credit, purchase and debit.' });

export const BalanceCoins = z.number().int().min(0).max(MAX_BALANCE);

export const CoinOperationBody = z.object({ installId: OptionalInstallId, coins: Coins, key: CoinKey });

export const CoinOperationReply = z.object({
  balanceAfterCoins: BalanceCoins.meta({ description: 'The balance right after the operation. In a replay, the original balance.' }),
  replayed: z.literal(true).optional().meta({ description: 'The key was used before, and the operation was not applied again.' }),
  balanceCoins: BalanceCoins.optional().meta({ description: 'In a replay, the balance now.' }),
});

export type EntryType = 'credit' | 'purchase' | 'debit' | 'merge';

/** The ledger has one letter for each type of entry, because a ledger of a million entries keeps each byte a million times. */
export const entryLetters = { credit: 'c', purchase: 'p', debit: 'd', merge: 'm' } as const satisfies Record<EntryType, string>;

export const coinKeys = {
  ledger: (accountId: string) => `{${accountId}}:ledger`,
  /** Buckets `…:0`, `…:1`, … that find a ledger entry by its idempotency key. */
  keys: (accountId: string) => `{${accountId}}:keys`,
  /** Key of the coins that the account credited itself on the UTC day of `at`, by credits and purchases. */
  credited: (accountId: string, at: number) => `{${accountId}}:credited:${new Date(at).toISOString().slice(0, 10)}`,
};

/** Lua functions for every script that changes a balance. */
export const ledgerLibrary = new URL('ledger.lua', import.meta.url);

export const applyScript = defineScript({
  file: new URL('apply.lua', import.meta.url),
  keys: ['ledger', 'keys', 'credited'],
  args: ['operation', 'key', 'keyHash', 'at', 'dailyCap', 'keepAfter', 'proofWanted', 'hashSecret'],
  answers: ['done', 'replayed', 'insufficient_coins', 'balance_limit', 'key_reused', 'integrity_failed'],
  prologue: opensAccount,
  library: ledgerLibrary,
});

/** Only a debit can be refused for too few coins, and only a credit or a purchase for a limit or a missing install proof. */
type OperationRefusal<Type> = 'key_reused' | (Type extends 'debit' ? 'insufficient_coins' : 'balance_limit' | 'integrity_failed');

/** Credits, purchases or debits `coins` (1 to 1,000,000) for the caller, once per key, in one round trip. */
export async function applyOperation<Type extends 'credit' | 'purchase' | 'debit'>(
  type: Type,
  caller: Caller,
  { coins, key }: { coins: number; key: string },
  { scripts, config, metrics, now, keySecret }: Services,
): Promise<z.input<typeof CoinOperationReply> | Refusal<OperationRefusal<Type>>> {
  const at = now();
  const { accountId } = caller;
  const ledger = coinKeys.ledger(accountId);
  const capped = config.CREDIT_DAILY_CAP > 0 && type !== 'debit';
  const [word, first, second] = await scripts.runAs(
    caller,
    applyScript,
    {
      ledger,
      keys: coinKeys.keys(accountId),
      credited: capped ? coinKeys.credited(accountId, at) : '',
    },
    {
      operation: `${entryLetters[type]}${type === 'debit' ? -coins : coins}`,
      key,
      keyHash: keySecret.hashOf(key) & (HASH_RANGE - 1),
      at: at.toString(36),
      ...rulesFor(type, at, config, keySecret),
    },
  );
  switch (word) {
    case 'done':
      return { balanceAfterCoins: Number(first) };
    case 'replayed':
      metrics.coinsReplayed.inc();
      return { balanceAfterCoins: Number(first), replayed: true, balanceCoins: Number(second) };
    case 'key_reused':
      return refuse('key_reused', { field: 'key' });
    case 'integrity_failed':
      return refuse(word as OperationRefusal<Type>, { failed: ['install_proof'] });
    case 'insufficient_coins':
    case 'balance_limit':
      return refuse(word as OperationRefusal<Type>, { field: 'coins', balanceCoins: Number(first) });
  }
}

/** The rules of the settings, as arguments of `apply.lua`. */
function rulesFor(
  type: 'credit' | 'purchase' | 'debit',
  at: number,
  { CREDIT_DAILY_CAP, LEDGER_RETENTION_DAYS, REQUIRE_INSTALL_PROOF }: Services['config'],
  keySecret: KeySecret,
): Record<'dailyCap' | 'keepAfter' | 'proofWanted' | 'hashSecret', string | number> {
  // No app store confirms a purchase here, so the rules for credits hold for purchases too.
  const isIncome = type !== 'debit';
  const isTrimmed = LEDGER_RETENTION_DAYS > 0;
  return {
    dailyCap: isIncome ? CREDIT_DAILY_CAP : 0,
    keepAfter: isTrimmed ? at - LEDGER_RETENTION_DAYS * 86_400_000 : 0,
    proofWanted: isIncome && REQUIRE_INSTALL_PROOF.includes('credit') ? 1 : 0,
    // A deleted entry's bucket is found by the hash of its key.
    hashSecret: isTrimmed ? keySecret.text : '',
  };
}
