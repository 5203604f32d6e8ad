import type { z } from 'zod';
import { opensAccount } from '../../accounts/prologues.ts';
import type { Services } from '../../declare.ts';
import { refuse, type Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { coinKeys, dayOf, entryLetters, ledgerLibrary, type CoinOperationReply } from './model.ts';

export const applyScript = defineScript({
  file: new URL('apply.lua', import.meta.url),
  keys: ['ledger'],
  args: ['operation', 'key', 'keyHash'],
  shared: ['rules', 'secret'],
  answers: ['done', 'replayed', 'insufficient_coins', 'balance_limit', 'key_reused', 'integrity_failed', 'other_data'],
  prologue: opensAccount,
  durable: true,
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
  const [word, first, second] = await scripts.runAs(
    caller,
    applyScript,
    { ledger: coinKeys.ledger(caller.accountId) },
    {
      operation: `${entryLetters[type]}${type === 'debit' ? -coins : coins}`,
      key,
      keyHash: keySecret.hashOf(key),
      rules: rulesOf(config, now),
      secret: keySecret.text,
    },
  );
  switch (word) {
    case 'done':
      return { balanceAfterCoins: Number(first) };
    case 'replayed':
      metrics.coinsReplayed.inc();
      return { balanceAfterCoins: Number(first), replayed: true, balanceCoins: Number(second) };
    case 'other_data':
      throw keySecret.otherData();
    case 'key_reused':
      return refuse('key_reused', { field: 'key' });
    case 'integrity_failed':
      return refuse(word as OperationRefusal<Type>, { failed: ['install_proof'] });
    case 'insufficient_coins':
    case 'balance_limit':
      return refuse(word as OperationRefusal<Type>, { field: 'coins', balanceCoins: Number(first) });
  }
}

/** The rules of the settings, in the format of `apply.lua`. They change at midnight only. */
function rulesOf({ CREDIT_DAILY_CAP, LEDGER_RETENTION_DAYS, REQUIRE_INSTALL_PROOF }: Services['config'], now: () => number): string {
  const proofWanted = REQUIRE_INSTALL_PROOF.includes('credit');
  if (CREDIT_DAILY_CAP === 0 && LEDGER_RETENTION_DAYS === 0 && !proofWanted) return '';
  return `${CREDIT_DAILY_CAP} ${dayOf(now())} ${proofWanted ? 1 : 0} ${LEDGER_RETENTION_DAYS * 86_400_000}`;
}
