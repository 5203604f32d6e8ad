import type { z } from 'zod';
import { settled } from '../../accounts/standing-reader.ts';
import type { Services } from '../../declare.ts';
import { Refusal } from '../../errors.ts';
import { operatorFor } from '../../server/identity/caller.ts';
import { append, rulesOf } from './apply.ts';
import type { CoinOperationReply } from './model.ts';

/** The services that append an operator's entry. `config` is needed for the retention, because each new entry deletes old entries. */
export type OperatorEntryServices = Pick<Services, 'scripts' | 'keySecret' | 'now'> &
  Partial<Pick<Services, 'metrics' | 'coinTotals'>> & { readonly config: Pick<Services['config'], 'LEDGER_RETENTION_DAYS'> };

/**
 * The reply for an operator's entry. `accountId` is the account whose ledger has the entry: for a guest that moved, the account into which
 * it moved.
 */
export type Booked = z.input<typeof CoinOperationReply> & { readonly accountId: string };

interface OperatorEntry {
  /** The letter of the entry's type and the signed coins: `a-30`. */
  readonly operation: string;
  readonly key: string;
  /** The operator and the reason, as `originOfOperator` writes them. */
  readonly origin: string;
}

/**
 * Appends an operator's entry, once per idempotency key. For a guest that moved, the entry goes into the ledger of the account into which
 * it moved.
 * @throws Refusal `account_deleted`, `account_banned`, `store_unavailable` while Redis is unavailable or the account is moving
 */
export async function appendForOperator(
  account: string,
  { operation, key, origin }: OperatorEntry,
  services: OperatorEntryServices,
): Promise<Booked | Refusal<'insufficient_coins' | 'balance_limit' | 'key_reused'>> {
  const entry = { operation, key, rules: rulesOf(origin, services.config, services.now) };
  const appendTo = async (accountId: string) => {
    const answer = await append(entry, operatorFor(accountId), services);
    if (!(answer instanceof Refusal)) return { ...answer, accountId };
    // `integrity_failed` cannot occur, because the script wants an install proof only from clients.
    return answer as Refusal<'insufficient_coins' | 'balance_limit' | 'key_reused'>;
  };
  try {
    return await appendTo(account);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'sign_in_required') throw error;
    const { accountId } = await settled(account, services.scripts);
    return appendTo(accountId);
  }
}
