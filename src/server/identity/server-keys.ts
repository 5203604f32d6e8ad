import { refuse, type Refusal } from '../../errors.ts';
import type { Role } from './roles.ts';

/** The scopes of server keys: each allows a group of calls. */
export const scopes = ['coins', 'scores', 'rooms', 'saves', 'accounts:read', 'events', 'admin'] as const;

export type Scope = (typeof scopes)[number];

/** A valid server key. The caller is then a server of the operator, or an operator, and never an app. */
export interface ServerKey {
  /** The id of the key. It is no secret: logs, the ledger and lists of keys show it. */
  readonly id: string;
  /**
   * True: this is no key, but a person who has signed in to the console at a provider of CONSOLE_SIGN_IN. The id is that of the person
   * (`people.ts`), and the role comes from the person's groups.
   */
  readonly isPerson?: boolean;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The role of the key's operator. Undefined without the scope admin. */
  readonly role: Role | undefined;
  /** The only game whose rooms and boards the key reaches. Undefined: all games. */
  readonly game: string | undefined;
  /** The console's session, if the request named the key by the cookie of this session. Undefined: the request has sent the key itself. */
  readonly console?: ConsoleSession;
}

/** The prefix of the name of an operator who acts by a key. Names of other operators cannot begin with this prefix. */
export const KEY_PREFIX = 'key:';

/** The name of an operator in the operators' log and in ledgers: `key:<id>`, or the id of a person. */
export const operatorOf = ({ id, isPerson = false }: Pick<ServerKey, 'id' | 'isPerson'>): string => (isPerson ? id : KEY_PREFIX + id);

/**
 * The data that a server key of one game can reach through an endpoint or an operation. Each endpoint or operation declares its reach. A
 * key of one game may not use an endpoint or operation without this declaration.
 *
 * - `game`: the board, the rooms or the saves of the game that the field `game` names.
 * - `room`: the room that the field `code` names, if it belongs to the game. `perform` checks this for operators, and the room's scripts
 *   check it for game servers.
 * - `accounts`: accounts and their coins, which belong to no game (docs/authority.md).
 * - `own`: only what belongs to the key or to its game. The handler bounds its work by the key.
 */
export type Reach = 'game' | 'room' | 'accounts' | 'own';

/**
 * The refusal when a key of one game asks for data outside its game. All endpoints use this check; only the reach `room` is checked
 * elsewhere.
 * @param input all fields of the request
 */
export function refuseBeyondGame(
  { game }: Pick<ServerKey, 'game'>,
  { reach }: { readonly reach?: Reach },
  input: { readonly game?: unknown },
): Refusal<'forbidden'> | undefined {
  if (game === undefined) return undefined;
  if (reach === undefined)
    return refuse('forbidden', { message: `This server key is for the game ${game}, and reaches its boards, rooms and saves only.` });
  const isNamed = input.game !== undefined || reach === 'game';
  return isNamed && input.game !== game ? refuseOtherGame(game, 'game') : undefined;
}

/** @param field the field that names something of another game */
export function refuseOtherGame(game: string, field: string): Refusal<'forbidden'> {
  return refuse('forbidden', { message: `This server key is for the game ${game}.`, field });
}

/** A session of the console. An operator typed the key into the console's page, and the browser keeps a cookie in place of the key. */
export interface ConsoleSession {
  readonly id: string;
  /** When the session ends, in milliseconds since 1970. */
  readonly endsAt: number;
  /** The header x-console of the request: `look`, or the text of the question that the operator has confirmed on the page. */
  readonly says: string;
  /** Until when the operator may make changes that cannot be undone, in milliseconds since 1970: for CONFIRMED_MS after typing the key. */
  readonly confirmedUntil: number;
}
