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

/** A session of the console: an operator typed the key into the page of the service, and the browser keeps a cookie in place of the key. */
export interface ConsoleSession {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
  /** The header x-console of the request: `look`, or the question that the page's user has confirmed. */
  readonly says: string;
  /** Until when the operator may do what cannot be undone, in milliseconds since 1970: for a while after typing the key. */
  readonly confirmedUntil: number;
}
