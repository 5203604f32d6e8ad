import { z } from 'zod';
import { isoTime, kindOf } from '../accounts/merge-rules.ts';
import { ACCOUNT_ID, AccountId, accountIdOf, InstallId, storeAccountIdOf } from '../accounts/ids.ts';
import { standingOf } from '../accounts/standing-reader.ts';
import { storeAccountOf } from '../accounts/store-accounts.ts';
import { findPurchase } from '../features/purchases/coins/find-purchase.ts';
import { keyOfProvider } from '../stores/openid/provider-table.ts';
import { SIGN_IN_NAMES } from '../stores/stores.ts';
import { factsOf, isKnown } from './account-facts.ts';
import { isUnreadable, Parts } from '../redis/unreadable.ts';
import { UNREADABLE } from './unreadable.ts';
import type { OperatorServices } from './operation.ts';
import { readRoom } from './room-facts.ts';

export const Account = AccountId.regex(ACCOUNT_ID, 'Must be an accountId').meta({
  description: 'The accountId.',
  typed: { word: 'ACCOUNTID' },
});

const WHO_RULE =
  'Must be an accountId, an installId of 8 to 128 visible characters, google:, apple: or the name of another provider and the sub of a sign-in, order: and the order number of a purchase of coins, or room: and the code of a room; account: and install: in front say which';

/** A text that names an account. The text may be an installId, which is a secret and must not get into URLs and logs. */
export const Who = z
  .string()
  .regex(/^[\x21-\x7e]{8,300}$/, WHO_RULE)
  .meta({ description: `${WHO_RULE.replace('Must be', 'It is')}.`, example: 'google:110248495921238986420' });

export const FoundAccount = z
  .object({
    accountId: AccountId,
    foundBy: z.enum(['accountId', 'installId', 'order', 'purchase', 'room', 'player', 'name', 'openid', ...SIGN_IN_NAMES]),
    via: z
      .object({
        purchase: z.string().optional(),
        room: z.string().optional(),
        game: z.string().optional(),
        playerId: z.string().optional(),
        name: z.string().optional(),
      })
      .optional()
      .meta({ description: 'The purchase, room or board by which it was found.' }),
    kind: z
      .enum(['guest', 'store'])
      .optional()
      .meta({ description: 'Left out for a deleted account that was found by its accountId, because nothing tells its kind any more.' }),
    movedTo: AccountId.optional().meta({ description: 'The account into which it moved, which has its coins, scores and purchases.' }),
    deletedAt: z.iso.datetime().optional(),
    createdAt: z.iso.datetime().optional(),
    problem: z.string().optional().meta({ description: 'Why nothing else is known of the account.', example: UNREADABLE }),
  })
  .meta({
    id: 'FoundAccount',
    example: { accountId: 'BQ5v1mHk2nYtZ8cXw0aLpR', foundBy: 'installId', kind: 'guest', createdAt: '2026-11-22T12:00:00.000Z' },
  });

export type Found = z.input<typeof FoundAccount>;

/** The accounts that a text names. The text should name only one. `find-account.ts` finds more. */
export async function accountsNamed(who: string, services: OperatorServices, parts?: Parts): Promise<Found[]> {
  return knownOf(await candidatesOf(who, services, parts), services);
}

/** Those candidates that the service knows, with their facts. */
export async function knownOf(candidates: readonly Candidate[], services: OperatorServices): Promise<Found[]> {
  const found = await Promise.all(
    candidates.map(async ({ foundBy, accountId, via }): Promise<Found[]> => {
      const facts = await factsOf(accountId, services).catch((error: unknown) => {
        if (!isUnreadable(error)) throw error;
      });
      if (facts === undefined) return [{ accountId, foundBy, via, problem: UNREADABLE }];
      if (!isKnown(facts)) return [];
      const { target, deleted } = facts.standing;
      return [
        {
          accountId,
          foundBy,
          via,
          kind: deleted === undefined ? kindOf(facts.fields) : KIND_OF_DELETED[foundBy],
          movedTo: target,
          deletedAt: isoTime(deleted?.at),
          createdAt: isoTime(facts.fields['createdAt']),
        },
      ];
    }),
  );
  return found.flat();
}

/** A deleted account has no fields. But an installId always stands for a guest, and a store's user id for a store account. */
const KIND_OF_DELETED: Readonly<Partial<Record<Found['foundBy'], Found['kind']>>> = {
  installId: 'guest',
  ...Object.fromEntries(['openid', ...SIGN_IN_NAMES].map((name) => [name, 'store'])),
};

export type Candidate = Pick<Found, 'accountId' | 'foundBy' | 'via'>;

/** Any other name before the colon is a provider of the settings (`keyOfProvider`). */
const PREFIXED = /^([a-z0-9][a-z0-9_-]{0,31}):(.+)$/;
const KINDS = ['account', 'install', 'order', 'room'];

/** A prefix decides the kind. So an installId that was chosen to look like another id is not taken for that id. */
async function candidatesOf(who: string, { scripts, config }: OperatorServices, parts?: Parts): Promise<Candidate[]> {
  const [, name = '', rest = ''] = PREFIXED.exec(who) ?? [];
  const provider = keyOfProvider(name, config);
  if (provider !== undefined) return usersOf(name, provider, rest, scripts);
  const prefix = KINDS.find((kind) => kind === name);
  if (prefix === 'order') return ownersOf(rest, scripts);
  if (prefix === 'room') return (await seatedIn(rest.toUpperCase(), scripts, parts))?.seats ?? [];
  const text = prefix === undefined ? who : rest;
  const candidates: Candidate[] = [];
  if (prefix !== 'install' && Account.safeParse(text).success) candidates.push({ foundBy: 'accountId', accountId: text });
  if (prefix !== 'account' && InstallId.safeParse(text).success) candidates.push({ foundBy: 'installId', accountId: accountIdOf(text) });
  return candidates;
}

/**
 * The account of a provider's user. If the user's earlier account was deleted, that account is named too. If an account has removed the
 * sign-in, this does not find the account: the sign-in may now belong to somebody else.
 * @param provider the provider's part of accounts' ids
 */
export async function usersOf(name: string, provider: string, subject: string, scripts: OperatorServices['scripts']) {
  const { accountId, ordinal } = await storeAccountOf(provider, subject, scripts);
  const before = ordinal === 0 ? undefined : storeAccountIdOf(provider, subject, ordinal - 1);
  const isDeleted = before !== undefined && (await standingOf(before, scripts)).word === 'deleted';
  const accounts = isDeleted ? [accountId, before] : [accountId];
  const foundBy = SIGN_IN_NAMES.find((known) => known === name) ?? 'openid';
  return accounts.map((id): Candidate => ({ foundBy, accountId: id }));
}

/** The owner of a purchase. A purchase that no account has claimed has no owner. */
async function ownersOf(order: string, scripts: OperatorServices['scripts']): Promise<Candidate[]> {
  const found = /^[\w.-]{1,255}$/.test(order) ? await findPurchase(order, scripts) : undefined;
  if (found === undefined || !ACCOUNT_ID.test(found.document.owner)) return [];
  return [{ foundBy: 'order', accountId: found.document.owner, via: { purchase: found.purchaseId } }];
}

/** The game of a room, and the accounts with a seat in it. Undefined: the room does not exist. */
export async function seatedIn(code: string, scripts: OperatorServices['scripts'], parts = new Parts()) {
  const found = await readRoom(code, { scripts }, parts);
  if (found === undefined) return undefined;
  const seats = found.seats.map(({ accountId }): Candidate => ({ foundBy: 'room', accountId, via: { room: code } }));
  return { game: found.room.game, seats };
}
