import { standingLibrary } from '../../accounts/standing.ts';
import type { z } from 'zod';
import type { ScriptCaller } from '../../accounts/caller-scripts.ts';
import { opensAccount } from '../../accounts/prologues.ts';
import type { Services } from '../../declare.ts';
import { refuse, type Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import type { ServerKey } from '../../server/identity/server-keys.ts';
import { originOfKey } from './entry-origin.ts';
import { coinKeys, DAY_MS, dayOf, entryLetters, ledgerLibrary, shownBalance, type CoinOperationReply } from './model.ts';

export const applyScript = defineScript({
  file: new URL('apply.lua', import.meta.url),
  keys: ['ledger'],
  args: ['operation', 'key', 'keyHash'],
  shared: ['rules', 'secret'],
  answers: ['done', 'replayed', 'insufficient_coins', 'balance_limit', 'key_reused', 'integrity_failed', 'other_data'],
  prologue: opensAccount,
  durable: true,
  library: [standingLibrary, ledgerLibrary],
});

/** The caller, and the id of the account whose ledger gets the entry. */
type OwnedBy = ScriptCaller & { readonly accountId: string };

type Applied = z.input<typeof CoinOperationReply>;

/**
 * The error codes of an operation. Only a debit may lack coins. `apply` can answer that a limit is exceeded or that an install proof is
 * missing, but only for a credit or a purchase.
 */
type OperationRefusal<Type> = 'key_reused' | (Type extends 'debit' ? 'insufficient_coins' : 'balance_limit' | 'integrity_failed');

/**
 * Credits, purchases or debits `coins` (1 to 1,000,000) for the caller, once per idempotency key, in one round trip.
 * @param by the server key of the request. A credit by a server key has the type `grant`. Each entry by a server key names the key's id.
 * The limits for clients, CREDIT_DAILY_CAP and REQUIRE_INSTALL_PROOF, do not apply to a server key.
 */
export async function applyOperation<Type extends 'credit' | 'purchase' | 'debit'>(
  type: Type,
  caller: OwnedBy,
  { coins, key }: { coins: number; key: string },
  services: OperationServices,
  by?: ServerKey,
): Promise<Applied | Refusal<OperationRefusal<Type>>> {
  const { config, now } = services;
  const letter = entryLetters[by !== undefined && type === 'credit' ? 'grant' : type];
  const operation = `${letter}${type === 'debit' ? -coins : coins}`;
  const rules = by === undefined ? rulesOfClients(config, now) : rulesOf(originOfKey(by), config, now);
  const answer = await append({ operation, key, rules }, caller, services);
  return answer as Applied | Refusal<OperationRefusal<Type>>;
}

/** The services that append an entry. The operator's tool has no `metrics` and no `coinTotals`. */
type AppendServices = Pick<Services, 'scripts' | 'keySecret'> & Partial<Pick<Services, 'metrics' | 'coinTotals'>>;

export type OperationServices = AppendServices & Pick<Services, 'config' | 'now'>;

interface AppendedEntry {
  /** The letter of the entry's type and the signed coins: `d-30`. */
  readonly operation: string;
  readonly key: string;
  /** Limits, retention and origin of the entry, in the format of the argument `rules` of `apply.lua`. */
  readonly rules: string;
}

/** Appends an entry to a ledger, once per idempotency key. */
export async function append(
  { operation, key, rules }: AppendedEntry,
  caller: OwnedBy,
  { scripts, metrics, coinTotals, keySecret }: AppendServices,
): Promise<Applied | Refusal<'key_reused' | 'insufficient_coins' | 'balance_limit' | 'integrity_failed'>> {
  const [word, balance, balanceNow] = await scripts.runAs(
    caller,
    applyScript,
    { ledger: coinKeys.ledger(caller.accountId) },
    { operation, key, keyHash: keySecret.hashOf(key), rules, secret: keySecret.text },
  );
  switch (word) {
    case 'done':
      coinTotals?.applied(operation, Number(balance));
      return appliedWith(Number(balance));
    case 'replayed':
      metrics?.coinsReplayed.inc();
      return { balanceAfterCoins: Math.max(0, Number(balance)), replayed: true, ...shownBalance(Number(balanceNow)) };
    case 'other_data':
      throw keySecret.otherData();
    case 'key_reused':
      return refuse('key_reused', { field: 'key' });
    case 'integrity_failed':
      return refuse(word, { failed: ['install_proof'] });
    case 'insufficient_coins':
    case 'balance_limit':
      return refuse(word, { field: 'coins', ...shownBalance(Number(balance)) });
  }
}

function appliedWith(balanceAfter: number): Applied {
  return balanceAfter < 0 ? { balanceAfterCoins: 0, debtCoins: -balanceAfter } : { balanceAfterCoins: balanceAfter };
}

/**
 * The limits and the retention for entries of clients, as the settings say, in the format of `apply.lua`. The text changes only at midnight
 * UTC.
 */
function rulesOfClients({ CREDIT_DAILY_CAP, LEDGER_RETENTION_DAYS, REQUIRE_INSTALL_PROOF }: Services['config'], now: () => number): string {
  const proofWanted = REQUIRE_INSTALL_PROOF.includes('credit');
  if (CREDIT_DAILY_CAP === 0 && LEDGER_RETENTION_DAYS === 0 && !proofWanted) return '';
  return `${CREDIT_DAILY_CAP} ${dayOf(now())} ${proofWanted ? 1 : 0} ${LEDGER_RETENTION_DAYS * DAY_MS}`;
}

/**
 * The argument `rules` of `apply.lua` for an entry by a server key or an operator: the retention and the origin, and no limit for clients.
 */
export function rulesOf(
  origin: string,
  { LEDGER_RETENTION_DAYS }: Pick<Services['config'], 'LEDGER_RETENTION_DAYS'>,
  now: () => number,
): string {
  return `0 ${dayOf(now())} 0 ${LEDGER_RETENTION_DAYS * DAY_MS} ${origin}`;
}
