import { z } from 'zod';
import type { Holding, ShownShape } from '../accounts/holdings.ts';
import { AccountId } from '../accounts/ids.ts';
import type { holdings } from '../holdings.ts';

/** The account that answers. */
export const Answering = {
  accountId: AccountId,
  movedFrom: AccountId.optional().meta({ description: 'The account that the operator asked for, if it has moved into this account.' }),
};

/** Any part is left out if its data is damaged. */
type Partly<Shape> = { readonly [Name in keyof Shape]: Shape[Name] extends z.ZodType ? z.ZodOptional<Shape[Name]> : never };

/** All data that is kept of an account, as operators see it. */
export type AccountReply<Held> = z.ZodObject<typeof Answering & Partly<ShownShape<Held>>>;

export function accountReplyOf<const Held extends readonly Holding[]>(held: Held): AccountReply<Held[number]> {
  const shapes = held.map(({ shown }) => z.object(shown?.shape ?? {}).partial().shape);
  return z.object(Object.assign({}, Answering, ...shapes)) as unknown as AccountReply<Held[number]>;
}

/** A row of one of the lists. */
export type RowOf<Name extends keyof ShownAccount> = NonNullable<ShownAccount[Name]> extends readonly (infer Row)[] ? Row : never;

export type ShownAccount = z.output<AccountReply<(typeof holdings)[number]>>;
