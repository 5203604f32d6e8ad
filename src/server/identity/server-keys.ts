import { refuse, type Refusal } from '../../errors.ts';
import type { Role } from './roles.ts';

/** The scopes of server keys: each allows a group of calls. */
export const scopes = ['coins', 'scores', 'rooms', 'accounts:read', 'events', 'admin'] as const;

export type Scope = (typeof scopes)[number];

/** A server key that verified: the caller is a server of the operator, not an app. */
export interface ServerKey {
  /** Public: in logs, in the ledger, in lists of keys. */
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The role of the key's operator. Undefined without the scope admin. */
  readonly role: Role | undefined;
  /** The only game whose rooms and boards the key reaches. Undefined: all games. */
  readonly game: string | undefined;
  /** Set if a session of the console stands for the key. */
  readonly console?: ConsoleSession;
}

/**
 * The data that a key of one game reaches by an endpoint or an operation, which declares it. A key of one game may not use an endpoint or
 * operation that declares nothing.
 *
 * - `game`: the board or the rooms of the game that the field `game` names.
 * - `room`: the room that the field `code` names, if it belongs to the game. `perform` checks that for operators, and the room's scripts for
 *   game servers.
 * - `accounts`: accounts and their coins, which belong to no game (docs/authority.md).
 * - `own`: only what belongs to the key or to its game. The handler bounds its work by the key.
 */
export type Reach = 'game' | 'room' | 'accounts' | 'own';

/**
 * The refusal of a key of one game for data outside its game. The only such check, except for `room`.
 * @param input all fields of the request
 */
export function refuseBeyondGame(
  { game }: Pick<ServerKey, 'game'>,
  { reach }: { readonly reach?: Reach },
  input: { readonly game?: unknown },
): Refusal<'forbidden'> | undefined {
  if (game === undefined) return undefined;
  if (reach === undefined)
    return refuse('forbidden', { message: `This server key is for the game ${game}, and reaches its boards and rooms only.` });
  const isNamed = input.game !== undefined || reach === 'game';
  return isNamed && input.game !== game ? refuseOtherGame(game, 'game') : undefined;
}

/** @param field the one that names something of another game */
export function refuseOtherGame(game: string, field: string): Refusal<'forbidden'> {
  return refuse('forbidden', { message: `This server key is for the game ${game}.`, field });
}

/** A session of the console: an operator typed the key into the page of the service, and the browser keeps a cookie in place of the key. */
export interface ConsoleSession {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
  /** The header x-console of the request: `look`, or the question that the page's user has confirmed. */
  readonly says: string;
  /** Until this time the operator may make changes that cannot be undone, in milliseconds since 1970: for a while after typing the key. */
  readonly confirmedUntil: number;
}
