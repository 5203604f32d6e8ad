import type { z } from 'zod';
import { settled } from '../../accounts/standing-reader.ts';
import type { Services } from '../../declare.ts';
import { Refusal } from '../../errors.ts';
import { operatorFor } from '../../server/identity/caller.ts';
import { append, rulesOf } from './apply.ts';
import type { CoinOperationReply } from './model.ts';

/** Services for an operator's entry. `config` has the service's retention, because each new entry deletes old ones. */
export type OperatorEntryServices = Pick<Services, 'scripts' | 'keySecret' | 'now'> &
  Partial<Pick<Services, 'metrics' | 'coinTotals'>> & { readonly config: Pick<Services['config'], 'LEDGER_RETENTION_DAYS'> };

/** `accountId` is the account whose ledger has the entry. If a moved guest was named, it is the account that the guest moved into. */
export type Booked = z.input<typeof CoinOperationReply> & { readonly accountId: string };

interface OperatorEntry {
  /** The type's letter and the signed coins: `a-30`. */
  readonly operation: string;
  readonly key: string;
  /** From `originOfOperator`. */
  readonly origin: string;
}

/**
 * Appends an operator's entry to the ledger of an account, or of the account that it moved into, once per key.
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
    // The script asks for a proof only of clients.
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
