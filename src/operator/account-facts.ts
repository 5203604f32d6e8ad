import { fieldValues, isoTime, type FieldValues } from '../accounts/merge-rules.ts';
import { accountKey, standingKey } from '../accounts/account-keys.ts';
import { follow } from '../accounts/standing-reader.ts';
import { parseStanding, standingChanges, type Standing } from '../accounts/standing.ts';
import { refuse, Refusal } from '../errors.ts';
import { defineScript } from '../redis/script.ts';
import { read, readHash } from '../redis/reads.ts';
import { isUnreadable, type Parts } from '../redis/unreadable.ts';
import type { OperatorServices } from './operation.ts';

/**
 * Reads the facts of an account, even if it is banned, moved or deleted. Answers account(exists 0|1, record of its standing, field, value
 * …).
 */
const readAccount = defineScript({
  name: 'operator/read-account',
  lua: `local fields = redis.call('HGETALL', account)
    return {'account', #fields > 0 and '1' or '0', record_of(standing), unpack(fields)}`,
  keys: ['account', 'standing'],
  answers: ['account'],
  library: standingChanges,
  readOnly: true,
});

/** Facts about an account that one script reads. */
export interface AccountFacts {
  readonly accountId: string;
  readonly exists: boolean;
  readonly standing: Standing;
  readonly fields: FieldValues;
}

export async function factsOf(accountId: string, { scripts }: OperatorServices): Promise<AccountFacts> {
  const keys = { account: accountKey(accountId), standing: standingKey(accountId) };
  const [, exists, record = '', ...fields] = await scripts.run(readAccount, keys, {});
  return {
    accountId,
    exists: exists === '1',
    standing: parseStanding(record),
    fields: fieldValues(fields),
  };
}

/** As `factsOf`. A damaged part counts as if it were not there, and is noted. */
async function readableFacts(accountId: string, services: OperatorServices, parts: Parts): Promise<AccountFacts> {
  const facts = await factsOf(accountId, services).catch((error: unknown) => {
    if (!isUnreadable(error)) throw error;
  });
  if (facts !== undefined) {
    if (facts.standing.unreadable > 0) parts.note('standing');
    return facts;
  }
  const { scripts } = services;
  const [fields, record] = await Promise.all([
    parts.read('fields', () => readHash(scripts, accountKey(accountId))),
    parts.read('standing', () => read(scripts, 'GET', standingKey(accountId))),
  ]);
  return { accountId, exists: true, standing: parseStanding(record?.[0] ?? ''), fields: fieldValues((fields ?? []).flat()) };
}

/** Whether the service knows the account: it has fields, or its standing records a move, a ban, a sign-out or a deletion. */
export function isKnown({ exists, standing }: AccountFacts): boolean {
  const { deleted, ban, target, moving, guests, generation } = standing;
  return exists || [deleted, ban, target, moving].some((part) => part !== undefined) || guests.length > 0 || generation > 0;
}

export interface FoundAccount extends AccountFacts {
  /** The guest that the operator asked for, if it has moved into this account. */
  readonly movedFrom: string | undefined;
}

/**
 * The facts of an account, or of the account into which it has moved. If an account is just moving, its own facts are returned.
 * @param parts notes damaged parts, which then count as if they were not there. Only for reads. If left out, damaged data is an error
 */
export async function factsWhereItIs(accountId: string, services: OperatorServices, parts?: Parts): Promise<AccountFacts> {
  const facts = (id: string) => (parts === undefined ? factsOf(id, services) : readableFacts(id, services, parts));
  const { found } = await follow(accountId, services.scripts, facts, ({ standing: { target } }) =>
    target === undefined ? undefined : { target },
  );
  return found;
}

/** As `factsWhereItIs`. @returns Refusal for an account that never existed, or was deleted */
export async function followed(
  accountId: string,
  services: OperatorServices,
  parts?: Parts,
): Promise<FoundAccount | Refusal<'account_not_found' | 'account_deleted'>> {
  const facts = await factsWhereItIs(accountId, services, parts);
  if (!isKnown(facts)) return refuse('account_not_found');
  const { deleted } = facts.standing;
  if (deleted !== undefined)
    return refuse('account_deleted', {
      message: `This account was deleted at ${isoTime(deleted.at)}: nothing is left of it.`,
    });
  return { ...facts, movedFrom: facts.accountId === accountId ? undefined : accountId };
}

/** The refusal of a change that writes fields of the account, if it has none. */
export function foreseenWithoutFields({ exists }: Pick<AccountFacts, 'exists'>): Refusal<'account_not_found'> | undefined {
  if (exists) return undefined;
  return refuse('account_not_found', { message: 'Nobody has used this account yet: there is only a ban, or a sign-out.' });
}

/** The end of a ban, for people. */
export function endText(until: number | undefined): string {
  return until === undefined ? 'without an end' : `until ${isoTime(until)}`;
}
