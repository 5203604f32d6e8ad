import { fieldValues, type FieldValues } from '../accounts/fields.ts';
import { accountKey, movesKey } from '../accounts/keys.ts';
import { parseMovesRecord, type Ban, type MovesRecord } from '../accounts/moves-record.ts';
import { refuse, Refusal } from '../errors.ts';
import { defineScript } from '../redis/script.ts';
import type { OperatorParts } from './operation.ts';

const readAccount = defineScript({
  file: new URL('read-account.lua', import.meta.url),
  keys: ['account', 'moves'],
  args: [],
  answers: ['account'],
  readOnly: true,
});

/** All that one look in Redis tells about an account. */
export interface AccountFacts {
  readonly accountId: string;
  readonly exists: boolean;
  readonly record: MovesRecord;
  /** How often all sessions were ended together. */
  readonly generation: number;
  readonly fields: FieldValues;
}

export async function factsOf(accountId: string, { scripts }: Pick<OperatorParts, 'scripts'>): Promise<AccountFacts> {
  const keys = { account: accountKey(accountId), moves: movesKey(accountId) };
  const [, exists, record = '', ...fields] = await scripts.run(readAccount, keys, {});
  return {
    accountId,
    exists: exists === '1',
    record: parseMovesRecord(record),
    generation: Number(/^(?:[~!][^\n]*\n)*#(\d+)\n/.exec(record)?.[1] ?? 0),
    fields: fieldValues(fields),
  };
}

/** Whether the service knows the account: it has fields, or a record of a move, a ban, a sign-out or its deletion. */
export function isKnown({ exists, record, generation }: AccountFacts): boolean {
  return (
    exists ||
    record.deleted !== undefined ||
    record.ban !== undefined ||
    record.target !== undefined ||
    record.moving !== undefined ||
    record.guests.length > 0 ||
    generation > 0
  );
}

/** Moves that a look follows. A guest moves once, so more are no accident. */
const MOST_FOLLOWED = 4;

export interface FoundAccount extends AccountFacts {
  /** The guest that was asked for, if it moved into this account. */
  readonly movedFrom: string | undefined;
}

/** The facts of an account, or of the account that it moved into. @returns Refusal for an account that never was, or was deleted */
export async function followed(
  accountId: string,
  parts: Pick<OperatorParts, 'scripts'>,
): Promise<FoundAccount | Refusal<'account_not_found' | 'account_deleted'>> {
  let facts = await factsOf(accountId, parts);
  for (let moves = 0; facts.record.target !== undefined && moves < MOST_FOLLOWED; moves++)
    facts = await factsOf(facts.record.target, parts);
  if (!isKnown(facts)) return refuse('account_not_found');
  const { deleted } = facts.record;
  if (deleted !== undefined)
    return refuse('account_deleted', {
      message: `This account was deleted at ${new Date(deleted.at).toISOString()}: nothing is left of it.`,
    });
  return { ...facts, movedFrom: facts.accountId === accountId ? undefined : accountId };
}

/** The end of a ban, for people. */
export function endText(until: number | undefined): string {
  return until === undefined ? 'without an end' : `until ${new Date(until).toISOString()}`;
}

/** Of a change that followed an account which moved while the operator was asked, for the log: `what` names the account from before. */
export function movedOn(asked: string, { accountId }: { readonly accountId: string }): { movedTo?: string } {
  return accountId === asked ? {} : { movedTo: accountId };
}
