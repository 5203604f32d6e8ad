import { ACCOUNT_ID } from '../accounts/ids.ts';
import { banAt } from '../accounts/standing.ts';
import { Refusal, type ErrorCode } from '../errors.ts';
import { nameOfOperator, originOfOperator, type OperatorName } from '../features/coins/entry-origin.ts';
import { entryLetters } from '../features/coins/model.ts';
import { appendForOperator } from '../features/coins/operator-entry.ts';
import { usedKey } from '../features/coins/find-used-key.ts';
import { factsWhereItIs, isKnown, type AccountFacts } from './account-facts.ts';
import { isUnreadable } from '../redis/unreadable.ts';
import type { OperatorServices } from './operation.ts';

/** Grants to many accounts. The endpoint and the tool share this code. */

export const grantOutcomes = ['granted', 'replayed', 'banned', 'deleted', 'unknown', 'refused'] as const;

export type GrantOutcome = (typeof grantOutcomes)[number];

export interface Grant {
  readonly accountId: string;
  /** 1 to 1,000,000. */
  readonly coins: number;
}

export interface Granted {
  readonly outcome: GrantOutcome;
  /** Only for a replay: the balance after the original grant. */
  readonly balanceAfterCoins?: number;
  /** Coins that the account still owes. */
  readonly debtCoins?: number | undefined;
  /** Only for a guest that moved: the account that has the entry. */
  readonly movedTo?: string;
  /** Why the account refused. */
  readonly code?: ErrorCode;
}

/** The fields that are the same in all entries of a grant. */
export interface GrantTerms {
  readonly key: string;
  readonly reason: string;
  readonly by: OperatorName;
}

/**
 * The outcomes that a grant to a group of accounts would have. Changes nothing. `granted`: the account can get the coins.
 */
async function previewGrants(accountIds: readonly string[], services: OperatorServices): Promise<Granted[]> {
  const all = await Promise.all(accountIds.map((accountId) => factsNow(accountId, services)));
  return all.map((facts, index) => {
    if (facts === 'unreadable') return UNREADABLE;
    const refused = refusedBy(facts);
    const moved = movedTo(facts?.accountId, accountIds[index]!);
    if (refused !== undefined) return { outcome: refused, ...moved };
    const isBanned = banAt(facts!.standing, services.now()) !== undefined;
    return { outcome: isBanned ? 'banned' : 'granted', ...moved };
  });
}

/**
 * Like `previewGrants`, but also checks whether the key was used before. The outcome is then `replayed`, or `refused` if the key was used
 * for another number of coins.
 */
export async function previewWithKey(group: readonly Grant[], key: string, services: OperatorServices): Promise<Granted[]> {
  const all = await previewGrants(
    group.map(({ accountId }) => accountId),
    services,
  );
  return Promise.all(
    all.map(async (granted, index): Promise<Granted> => {
      if (granted.outcome !== 'granted') return granted;
      const { accountId, coins } = group[index]!;
      const entry = { operation: `${entryLetters.grant}${coins}`, key };
      const use = await unlessUnreadable(usedKey(granted.movedTo ?? accountId, entry, services));
      if (use === 'unreadable') return UNREADABLE;
      if (use === 'used') return { ...granted, outcome: 'replayed' };
      return use === 'reused' ? { ...granted, outcome: 'refused', code: 'key_reused' } : granted;
    }),
  );
}

/**
 * Grants coins to a group of accounts, once for each account and key. Two grants of a group for the same account are made in their order.
 * @param group at most `GRANT_GROUP` of grant-pace.ts
 * @throws If Redis fails, some of the accounts may have got their coins. Repeat with the same key for the rest
 */
export async function grantGroup(group: readonly Grant[], { key, reason, by }: GrantTerms, services: OperatorServices): Promise<Granted[]> {
  const origin = originOfOperator({ by: nameOfOperator(by), reason });
  const all = await Promise.all(group.map(({ accountId }) => factsNow(accountId, services)));
  const turns = new Map<string, Promise<Granted>>();
  return Promise.all(
    group.map(async ({ accountId, coins }, index) => {
      const facts = all[index];
      if (facts === 'unreadable') return UNREADABLE;
      const refused = refusedBy(facts);
      if (refused !== undefined) return { outcome: refused, ...movedTo(facts?.accountId, accountId) };
      const operation = `${entryLetters.grant}${coins}`;
      const grant = () => grantOne(facts!.accountId, accountId, { operation, key, origin }, services);
      const before = turns.get(facts!.accountId);
      const turn = before === undefined ? grant() : before.then(grant);
      turns.set(facts!.accountId, turn);
      return turn;
    }),
  );
}

async function grantOne(
  account: string,
  asked: string,
  entry: Parameters<typeof appendForOperator>[1],
  services: OperatorServices,
): Promise<Granted> {
  const booked = await appendForOperator(account, entry, services).catch((error: unknown) => {
    if (error instanceof Refusal) return error;
    if (isUnreadable(error)) return undefined;
    throw error;
  });
  if (booked === undefined) return UNREADABLE;
  if (booked instanceof Refusal) {
    const { code } = booked as Refusal<ErrorCode>;
    const moved = movedTo(account, asked);
    if (code === 'account_banned') return { outcome: 'banned', ...moved };
    return code === 'account_deleted' ? { outcome: 'deleted', ...moved } : { outcome: 'refused', code, ...moved };
  }
  const { accountId, balanceAfterCoins, debtCoins, replayed } = booked;
  return {
    outcome: replayed === true ? 'replayed' : 'granted',
    balanceAfterCoins,
    debtCoins,
    ...movedTo(accountId, asked),
  };
}

/** Of an account whose data is damaged. The other accounts of the group get their coins. */
const UNREADABLE: Granted = { outcome: 'refused', code: 'internal' };

/** Undefined for a text that is no accountId. */
async function factsNow(accountId: string, services: OperatorServices): Promise<AccountFacts | 'unreadable' | undefined> {
  if (!ACCOUNT_ID.test(accountId)) return undefined;
  return unlessUnreadable(factsWhereItIs(accountId, services));
}

function unlessUnreadable<Read>(read: Promise<Read>): Promise<Read | 'unreadable'> {
  return read.catch((error: unknown) => {
    if (!isUnreadable(error)) throw error;
    return 'unreadable';
  });
}

function refusedBy(facts: AccountFacts | undefined): 'unknown' | 'deleted' | undefined {
  if (facts === undefined || !isKnown(facts)) return 'unknown';
  return facts.standing.deleted === undefined ? undefined : 'deleted';
}

/** For the result of a guest that moved. @param found the account that has the guest's coins now; undefined: no account was found */
export function movedTo(found: string | undefined, asked: string): { movedTo?: string } {
  return found === undefined || found === asked ? {} : { movedTo: found };
}

/** How many accounts had each outcome, for the log. Outcomes without one are left out. */
export function countsOf<Outcome extends string>(results: Iterable<{ readonly outcome: Outcome }>): Partial<Record<Outcome, number>> {
  const counts: Partial<Record<Outcome, number>> = {};
  for (const { outcome } of results) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
