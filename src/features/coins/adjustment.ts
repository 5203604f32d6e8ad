import { z } from 'zod';
import { MAX_REASON_LENGTH, plainText } from '../../accounts/plain-text.ts';
import { invalid, type Refusal } from '../../errors.ts';
import { KEY_PREFIX } from '../../server/identity/server-keys.ts';
import { nameOfOperator, originOfOperator, type OperatorName } from './entry-origin.ts';
import { CoinKey, entryLetters, MAX_BALANCE } from './model.ts';
import { appendForOperator, type Booked, type OperatorEntryServices } from './operator-entry.ts';

const COINS_RULE = `Must be a whole number from -${MAX_BALANCE} to ${MAX_BALANCE}, and not 0`;

export const Adjustment = z.object({
  coins: z
    .number(COINS_RULE)
    .int({ error: COINS_RULE, abort: true })
    .min(-MAX_BALANCE, COINS_RULE)
    .max(MAX_BALANCE, COINS_RULE)
    .refine((coins) => coins !== 0, COINS_RULE)
    .meta({ description: 'Whole coins to add, negative to remove.', example: 50 }),
  key: CoinKey,
  reason: plainText(MAX_REASON_LENGTH).meta({
    description: 'The reason for the adjustment, for other operators to read: 1 to 120 characters.',
    example: 'lost in the outage of 3 May',
  }),
  by: plainText(64)
    .refine((name) => !name.startsWith(KEY_PREFIX), `Must not begin with ${KEY_PREFIX}`)
    .meta({ description: 'Who adjusts: 1 to 64 characters.', example: 'ada' }),
});

/** The fields of an adjustment. `by` is the operator's name, or the server key that the operator uses. */
export type AdjustmentBy = Omit<z.input<typeof Adjustment>, 'by'> & { readonly by: OperatorName };

/**
 * Corrects the balance of an account for an operator, once per idempotency key: the ledger gets an entry of type `adjust` with reason and
 * operator. If the account is a guest that moved, the entry goes into the ledger of the account into which the guest moved. A missing
 * account is created, so check first that the account exists.
 * @returns Refusal `invalid_request` for a bad field, `insufficient_coins` if the balance would fall below 0, `balance_limit` above 10^12,
 * `key_reused` if the idempotency key was used for another operation
 * @throws Refusal `account_deleted`, `account_banned` (end the ban first), `store_unavailable` while Redis is unavailable or the account is
 * moving
 */
export async function adjustBalance(
  account: string,
  adjustment: AdjustmentBy,
  services: OperatorEntryServices,
): Promise<Booked | Refusal<'invalid_request' | 'insufficient_coins' | 'balance_limit' | 'key_reused'>> {
  const { by: named } = adjustment;
  const parsed = Adjustment.safeParse({ ...adjustment, by: typeof named === 'object' ? named.id : named });
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!;
    return invalid(String(path[0] ?? 'adjustment'), message);
  }
  const { coins, key, reason, by } = parsed.data;
  const origin = originOfOperator({ by: typeof named === 'object' ? nameOfOperator(named) : by, reason });
  return appendForOperator(account, { operation: `${entryLetters.adjust}${coins}`, key, origin }, services);
}
