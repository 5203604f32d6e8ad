import { z } from 'zod';
import { ACCOUNT_ID, AccountId } from '../accounts/ids.ts';
import { refuse } from '../errors.ts';
import { GameId } from '../features/catalogue/model.ts';
import { PLAYER_ID } from '../features/highscores/entry-format.ts';
import { boardKeys } from '../features/highscores/model.ts';
import { findPurchase } from '../features/purchases/coins/find-purchase.ts';
import { purchaseHash, purchaseIdOf } from '../features/purchases/core/purchase-ids.ts';
import { RoomCode } from '../features/rooms/model.ts';
import { readPurchase } from '../features/purchases/subscription/purchase-document.ts';
import { mayAct, type Role } from '../server/identity/roles.ts';
import { ServerKeyChanges } from '../server/identity/server-key-changes.ts';
import { refuseOtherGame } from '../server/identity/server-keys.ts';
import { SIGN_IN_NAMES, STORE_NAMES } from '../stores/stores.ts';
import { accountsOf } from './board-entries.ts';
import { accountsNamed, FoundAccount, knownOf, seatedIn, usersOf, type Candidate, type Found } from './named-accounts.ts';
import { operation, type OperatorServices } from './operation.ts';
import { isUnreadable, Parts } from '../redis/unreadable.ts';
import { nameOfPlayers, PLAYERS_CURSOR, playersNamed } from './players-named.ts';
import { more, some } from './shown/cells.ts';
import { found as foundAccounts } from './shown/shown-account.ts';

/** The length of the longest text that users may have: the token of a purchase. */
const LONGEST = 1000;

const Sought = z
  .string()
  .max(LONGEST)
  .trim()
  .min(1, 'Must be 1 to 1,000 characters')
  .refine((text) => !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text), 'Must hold no control characters')
  .meta({
    description:
      'What the user has: an accountId, an installId, the `sub` of a store account, the order number, the id or the token of a purchase, the code of a ' +
      'room, a playerId, or a name. `account:`, `install:`, `google:`, `order:`, `purchase:`, `room:`, `player:`, `name:` or `key:` in front says which.',
    example: 'GPA.3345-1234-5678-90123',
  });

const FoundPurchase = z.object({
  purchase: z.string().meta({ description: 'Its id, for `/v1/admin/purchases/{purchase}` where `kind` is `coins`.' }),
  kind: z.enum(['coins', 'subscription']),
  accountId: AccountId.optional().meta({ description: 'The owner. If a guest bought it and then moved, this is still the guest.' }),
});

const FoundKey = z.object({ id: z.string(), name: z.string(), state: z.enum(['valid', 'expired', 'revoked']) });

/** Most characters of a name. Folding may shorten it. */
const LONGEST_NAME = 64;

export const find = operation({
  name: 'accounts find',
  method: 'POST',
  path: '/v1/admin/find',
  words: ['who'],
  operationId: 'findAccount',
  role: 'viewer',
  reach: 'game',
  costly: true,
  summary: 'Finds accounts by any id, token or name that their users know.',
  description:
    'Each account has a field that says how it was found; a text may name several accounts. A text of 22 characters may be the accountId of ' +
    'one account and the installId of another. A store subject also leads to its last deleted account, after the current one. A purchase leads ' +
    'to its owner, and a room to all accounts with a seat. Names are searched on the boards of the catalogue, or of `game`, including those of ' +
    'banned players: first equal names, then names that begin with the text, then names that contain it; case, accents and look-alike letters ' +
    'make no difference. Names are searched only if nothing but a room was found. A search reads some 10,000 entries, and `nextCursor` goes ' +
    'on. The role `admin` also finds server keys by id and name. A key of one game has to name that ' +
    '`game`: it finds players of its board by name and playerId, and its rooms by code, and nothing else.',
  input: z.object({
    who: Sought,
    game: GameId.optional().meta({
      description: 'The board on which the service searches for names and playerIds. Left out: all boards of the catalogue.',
    }),
    cursor: z
      .string()
      .regex(PLAYERS_CURSOR, 'Must be the nextCursor of an earlier search')
      .optional()
      .meta({ description: 'Continues the search for names after an earlier answer.' }),
  }),
  reply: z.object({
    accounts: z.array(FoundAccount),
    purchases: z.array(FoundPurchase).optional(),
    rooms: z.array(z.object({ code: z.string() })).optional(),
    keys: z.array(FoundKey).optional().meta({ description: 'Server keys.' }),
    nextCursor: z.string().optional().meta({ description: 'Continues the search for names. Left out if all boards were searched.' }),
  }),
  errors: ['account_not_found'],
  example: `curl -s $base/v1/admin/find -H "authorization: Bearer $COINOP_KEY" -H 'content-type: application/json' -d '{"who":"install-0001"}'`,
  shown: ({ accounts, purchases = [], rooms = [], keys = [], nextCursor }) => [
    ...some(foundAccounts, accounts),
    ...purchases.map(({ purchase, kind, accountId }) => `purchase (${kind}): ${purchase}${accountId === undefined ? ', of nobody' : ''}`),
    ...rooms.map(({ code }) => `room: ${code}`),
    ...keys.map(({ id, name, state }) => `server key: ${id} "${name}", ${state}`),
    ...more(nextCursor),
  ],
  async prepare({ who, game, cursor }, services, { role, key, isGone }) {
    const { prefix, text } = partsOf(who);
    const ownGame = key?.game;
    const games = game === undefined ? services.catalogue.games : [game];
    const kinds = ownGame === undefined ? ALL_KINDS : KINDS_OF_A_GAME;
    if (prefix !== undefined && !kinds.includes(prefix)) return refuseOtherGame(ownGame!, 'who');
    const isSought = (...wanted: string[]): boolean =>
      cursor === undefined && wanted.some((kind) => kinds.includes(kind) && (prefix === undefined || prefix === kind));
    // If a primary of a Cluster is down, the search still finds data on the other primaries.
    const failures: unknown[] = [];
    const parts = new Parts();
    const tried = <Found>(name: string, work: Promise<Found>, nothing: Found): Promise<Found> =>
      work.catch((error: unknown) => {
        if (isUnreadable(error)) parts.note(name);
        else failures.push(error);
        return nothing;
      });
    const [named, users, purchases, room, players, keys] = await Promise.all([
      isSought('account', 'install', ...SIGN_IN_NAMES) && NAMES.test(who) ? tried('accounts', accountsNamed(who, services, parts), []) : [],
      prefix === undefined && isSought('google') ? tried('sign-ins', storeUsers(text, services), []) : [],
      isSought('order', 'purchase') ? tried('purchases', purchasesNamed(text, services, parts), []) : [],
      isSought('room') ? tried('room', roomNamed(text, ownGame, services, parts), undefined) : undefined,
      isSought('player') ? tried('boards', playersWithId(text, games, services, parts), []) : [],
      isSought('key') ? tried('server keys', keysNamed(text, role, services), []) : [],
    ]);
    const certain = [...users, ...purchases.flatMap(({ candidate }) => candidate ?? []), ...players];
    const isNamed = cursor !== undefined || prefix === 'name' || (isSought('name') && named.length + certain.length === 0);
    const none: Awaited<ReturnType<typeof playersNamed>> = { players: [], next: undefined };
    const names =
      isNamed && text.length <= LONGEST_NAME
        ? await tried('boards', playersNamed(text, games, cursor ?? '', services, isGone, parts), none)
        : undefined;
    const byName = (names?.players ?? []).map(({ accountId, game: of, playerId, name }): Candidate => ({
      accountId,
      foundBy: 'name',
      via: { game: of, playerId, name },
    }));
    const known = await knownOf([...certain, ...(room?.seats ?? []), ...byName], services);
    // The facts of an account do not belong to a single game.
    const ofGame = (found: Found): Found => ({ accountId: found.accountId, foundBy: found.foundBy, via: found.via });
    const accounts = [...named, ...(ownGame === undefined ? known : known.map(ofGame))];
    const found = purchases.map(({ purchase, kind, candidate }) => ({ purchase, kind, accountId: candidate?.accountId }));
    if (accounts.length + found.length + keys.length === 0 && room === undefined && names?.next === undefined) {
      if (failures.length > 0) throw failures[0];
      if (parts.unreadable.length === 0) return refuse('account_not_found');
    }
    return {
      reply: {
        accounts,
        ...(found.length === 0 ? {} : { purchases: found }),
        ...(room === undefined ? {} : { rooms: [{ code: room.code }] }),
        ...(keys.length === 0 ? {} : { keys }),
        ...(names?.next === undefined ? {} : { nextCursor: names.next }),
        unreadable: parts.unreadable,
      },
    };
  },
});

/** The kinds of things that a text may name. A prefix says which kind. */
const ALL_KINDS: readonly string[] = [...SIGN_IN_NAMES, 'account', 'install', 'order', 'purchase', 'room', 'player', 'name', 'key'];
const KINDS_OF_A_GAME: readonly string[] = ['room', 'player', 'name'];

const PREFIXED = new RegExp(`^(${ALL_KINDS.join('|')}):(.+)$`, 's');

/** Texts that `accountsNamed` can take: they have no blanks. */
const NAMES = /^[\x21-\x7e]{8,300}$/;

function partsOf(who: string): { readonly prefix: string | undefined; readonly text: string } {
  const [, prefix, text = who] = PREFIXED.exec(who) ?? [];
  return { prefix, text: text.trim() };
}

/**
 * Google's user ids have at most 255 digits (OpenID Connect Core, section 2). The sandbox's user ids may be any text, so they need the
 * prefix.
 */
async function storeUsers(text: string, { scripts }: OperatorServices): Promise<Candidate[]> {
  return /^\d{6,255}$/.test(text) ? usersOf('google', 'google', text, scripts) : [];
}

interface Bought {
  readonly purchase: string;
  readonly kind: 'coins' | 'subscription';
  /** Undefined: the purchase has no owner. */
  readonly candidate: Candidate | undefined;
}

/**
 * Finds purchases by an order number, an id, or the store's token. Redis has only hashes of tokens, so a token is found only if it is
 * complete.
 */
async function purchasesNamed(text: string, { scripts }: OperatorServices, parts: Parts): Promise<Bought[]> {
  if (!/^[\x21-\x7e]+$/.test(text)) return [];
  const byId = /^[\w.-]{1,255}$/.test(text) ? [text] : [];
  const names = [...byId, ...STORE_NAMES.map((store) => purchaseIdOf(store, text))];
  const hashes = [...(ACCOUNT_ID.test(text) ? [text] : []), ...STORE_NAMES.map((store) => purchaseHash(text, store))];
  const [coins, subscriptions] = await Promise.all([
    Promise.all(names.map((name) => findPurchase(name, scripts, parts))),
    Promise.all(hashes.map((hash) => parts.read(`purchase ${hash}`, () => readPurchase(hash, scripts)))),
  ]);
  return [
    ...coins.flatMap((found, index) => {
      if (found === undefined) return [];
      const foundBy = index < byId.length && found.purchaseId !== text ? 'order' : 'purchase';
      return [boughtBy(found.document.owner, { purchase: found.purchaseId, kind: 'coins' }, foundBy)];
    }),
    ...subscriptions.flatMap((found, index) =>
      found === undefined ? [] : [boughtBy(found.owner, { purchase: hashes[index]!, kind: 'subscription' }, 'purchase')],
    ),
  ];
}

function boughtBy(owner: string, { purchase, kind }: Omit<Bought, 'candidate'>, foundBy: 'order' | 'purchase'): Bought {
  return { purchase, kind, candidate: ACCOUNT_ID.test(owner) ? { accountId: owner, foundBy, via: { purchase } } : undefined };
}

/** @param ownGame only a room of this game is found; undefined: a room of any */
async function roomNamed(text: string, ownGame: string | undefined, { scripts }: OperatorServices, parts: Parts) {
  const code = RoomCode.parse(text);
  const found = await seatedIn(code, scripts, parts);
  return found === undefined || (ownGame !== undefined && found.game !== ownGame) ? undefined : { code, seats: found.seats };
}

/** A playerId is valid on one board only, so each board has to be searched. */
async function playersWithId(text: string, games: readonly string[], services: OperatorServices, parts: Parts): Promise<Candidate[]> {
  if (!PLAYER_ID.test(text)) return [];
  return parts.readEach(games, nameOfPlayers, async (game): Promise<Candidate | undefined> => {
    const [accountId] = await accountsOf([text], boardKeys.players(game), services);
    return accountId === undefined ? undefined : { accountId, foundBy: 'player', via: { game, playerId: text } };
  });
}

async function keysNamed(text: string, role: Role, { scripts, now }: OperatorServices) {
  if (!mayAct(role, 'admin')) return [];
  const wanted = text.toLowerCase();
  const keys = await new ServerKeyChanges(scripts, now).list();
  return keys
    .filter(({ id, name }) => id === wanted || name.toLowerCase().includes(wanted))
    .map(({ id, name, state }) => ({ id, name, state }));
}
