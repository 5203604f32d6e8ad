import type { z } from 'zod';
import { opensAccount } from '../../accounts/prologues.ts';
import type { Services } from '../../declare.ts';
import { refuse, type Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import type { Caller } from '../../server/identity/caller.ts';
import type { KeySecret } from './key-secret.ts';
import { coinKeys, entryLetters, ledgerLibrary, type CoinOperationReply } from './model.ts';

export const applyScript = defineScript({
  file: new URL('apply.lua', import.meta.url),
  keys: ['ledger', 'index', 'guestKeys', 'credited'],
  args: ['operation', 'key', 'keyHash', 'at', 'rules'],
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
  const capped = config.CREDIT_DAILY_CAP > 0 && type !== 'debit';
  const [word, first, second] = await scripts.runAs(
    caller,
    applyScript,
    {
      ledger: coinKeys.ledger(accountId),
      index: coinKeys.index(accountId),
      guestKeys: coinKeys.guestKeys(accountId),
      credited: capped ? coinKeys.credited(accountId, at) : '',
    },
    {
      operation: `${entryLetters[type]}${type === 'debit' ? -coins : coins}`,
      key,
      keyHash: keySecret.hashOf(key),
      at: at.toString(36),
      rules: rulesFor(type, at, config, keySecret),
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

/** The rules of the settings, in the format of `apply.lua`. */
function rulesFor(
  type: 'credit' | 'purchase' | 'debit',
  at: number,
  { CREDIT_DAILY_CAP, LEDGER_RETENTION_DAYS, REQUIRE_INSTALL_PROOF }: Services['config'],
  keySecret: KeySecret,
): string {
  // No app store confirms a purchase here, so the rules for credits hold for purchases too.
  const isIncome = type !== 'debit';
  const dailyCap = isIncome ? CREDIT_DAILY_CAP : 0;
  // A retention that reaches back before 1970 deletes nothing.
  const keepAfter = LEDGER_RETENTION_DAYS === 0 ? 0 : Math.max(0, at - LEDGER_RETENTION_DAYS * 86_400_000);
  const proofWanted = isIncome && REQUIRE_INSTALL_PROOF.includes('credit') ? 1 : 0;
  if (dailyCap + keepAfter + proofWanted === 0) return '';
  // The script finds the bucket of a deleted entry by the hash of its key, for which it needs the secret.
  return `${dailyCap} ${keepAfter} ${proofWanted} ${keepAfter === 0 ? '' : keySecret.text}`;
}
