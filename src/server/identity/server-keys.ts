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
}
