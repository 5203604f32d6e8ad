import { z } from 'zod';
import type { Holding, ShownShape } from '../accounts/holdings.ts';
import { AccountId } from '../accounts/ids.ts';
import type { holdings } from '../holdings.ts';

/** The account that answers. */
export const Answering = {
  accountId: AccountId,
  movedFrom: AccountId.optional().meta({ description: 'The account that the operator asked for, if it has moved into this account.' }),
};

/** All data that is kept of an account, as operators see it. */
export type AccountReply<Held> = z.ZodObject<typeof Answering & ShownShape<Held>>;

export function accountReplyOf<const Held extends readonly Holding[]>(held: Held): AccountReply<Held[number]> {
  return z.object(Object.assign({}, Answering, ...held.map(({ shown }) => shown?.shape))) as unknown as AccountReply<Held[number]>;
}

export type ShownAccount = z.output<AccountReply<(typeof holdings)[number]>>;
