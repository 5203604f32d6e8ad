import { z } from 'zod';
import { settled } from '../../accounts/standing-look.ts';
import { MAX_REASON_LENGTH, plainText } from '../../accounts/plain-text.ts';
import type { Services } from '../../declare.ts';
import { invalid, Refusal } from '../../errors.ts';
import { operatorFor } from '../../server/identity/caller.ts';
import type { ServerKey } from '../../server/identity/server-keys.ts';
import { append, rulesOf } from './apply.ts';
import { KEY_PREFIX, originOfOperator } from './entry-origin.ts';
import { CoinKey, entryLetters, MAX_BALANCE, type CoinOperationReply } from './model.ts';

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
    description: 'Why, for other operators: 1 to 120 characters.',
    example: 'lost in the outage of 3 May',
  }),
  by: plainText(64)
    .refine((name) => !name.startsWith(KEY_PREFIX), `Must not begin with ${KEY_PREFIX}`)
    .meta({ description: 'Who adjusts: 1 to 64 characters.', example: 'ada' }),
});

/** What `adjustBalance` needs. `config` holds the retention of the service, which deletes old entries with each new one. */
export type AdjustServices = Pick<Services, 'scripts' | 'keySecret' | 'now'> &
  Partial<Pick<Services, 'metrics'>> & { readonly config: Pick<Services['config'], 'LEDGER_RETENTION_DAYS'> };

/** `accountId` is the account whose ledger has the entry. If a moved guest was named, it is the account that the guest moved into. */
export type Adjusted = z.input<typeof CoinOperationReply> & { readonly accountId: string };

/** With the operator's name, or the server key behind which the operator is. */
export type AdjustmentBy = Omit<z.input<typeof Adjustment>, 'by'> & { readonly by: string | Pick<ServerKey, 'id'> };

/**
 * Corrects the balance of an account for an operator, once per key: an entry of type `adjust` with reason and operator. The account of
 * a guest that moved is followed. An account that never was comes into being: look first whether it is there.
 * @returns Refusal `invalid_request` for a field that does not fit, `insufficient_coins` below a balance of 0, `balance_limit` above
 * 10^12, `key_reused` for a key of another operation
 * @throws Refusal `account_deleted`, `account_banned` (end the ban first), `store_unavailable` while Redis is away or the account is moving
 */
export async function adjustBalance(
  account: string,
  adjustment: AdjustmentBy,
  services: AdjustServices,
): Promise<Adjusted | Refusal<'invalid_request' | 'insufficient_coins' | 'balance_limit' | 'key_reused'>> {
  const { by: named } = adjustment;
  const isKey = typeof named === 'object';
  const parsed = Adjustment.safeParse({ ...adjustment, by: isKey ? named.id : named });
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!;
    return invalid(String(path[0] ?? 'adjustment'), message);
  }
  const { coins, key, reason, by } = parsed.data;
  const { config, now, scripts } = services;
  const entry = {
    operation: `${entryLetters.adjust}${coins}`,
    key,
    rules: rulesOf(originOfOperator({ by: isKey ? KEY_PREFIX + by : by, reason }), config, now),
  };
  const adjust = async (accountId: string) => {
    const answer = await append(entry, operatorFor(accountId), services);
    if (!(answer instanceof Refusal)) return { ...answer, accountId };
    // The script asks for a proof only of clients.
    return answer as Refusal<'insufficient_coins' | 'balance_limit' | 'key_reused'>;
  };
  try {
    return await adjust(account);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'sign_in_required') throw error;
    const { accountId } = await settled(account, scripts);
    return adjust(accountId);
  }
}
