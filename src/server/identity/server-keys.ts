import type { Role } from './roles.ts';

/** What a server key may do. */
export const scopes = ['coins', 'scores', 'rooms', 'accounts:read', 'events', 'admin'] as const;

export type Scope = (typeof scopes)[number];

/** A server key that verified: the caller is a server of the operator, not an app. */
export interface ServerKey {
  /** Public: in logs, in the ledger, in lists of keys. */
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** With the scope admin: what its operator may do. */
  readonly role: Role | undefined;
  /** The only game whose rooms and boards the key reaches. Undefined: all games. */
  readonly game: string | undefined;
  /** Set where a session of the console stands for the key. */
  readonly console?: ConsoleSession;
}

/** A session of the console: an operator typed the key into the page of the service, and the browser keeps a cookie in place of the key. */
export interface ConsoleSession {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
  /** What the page says of the request, in the header x-console: `look`, or which question its user has confirmed. */
  readonly says: string;
  /** Until when what cannot be undone may be done, in milliseconds since 1970: the key was typed a moment ago. */
  readonly confirmedUntil: number;
}
