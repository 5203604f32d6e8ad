import { KEY_PREFIX, operatorOf as nameOf, type ServerKey } from '../../server/identity/server-keys.ts';
import { entryLetters } from './model.ts';

/**
 * The origin of a ledger entry: the server key or the operator that made the entry. The text of an entry has its origin after its time,
 * without blanks:
 *
 * - `k<id>`: the server key with this id.
 * - `o<base64url of {"by","reason"}>`: an operator.
 *
 * The origin is not part of the operation, so a server that repeats an operation with another server key gets a replay.
 */
export interface EntryOrigin {
  /** `key:<id>` of a server key, the id of a person who uses the operator's page, or the operator's name. */
  readonly by: string;
  /** An operator's reason. A server key gives none. */
  readonly reason?: string;
}

export function originOfKey({ id }: Pick<ServerKey, 'id'>): string {
  return `k${id}`;
}

export function originOfOperator({ by, reason }: Required<EntryOrigin>): string {
  return `o${Buffer.from(JSON.stringify({ by, reason })).toString('base64url')}`;
}

/** An operator: a name, or the server key that the operator uses. */
export type OperatorName = string | Pick<ServerKey, 'id' | 'isPerson'>;

export function nameOfOperator(operator: OperatorName): string {
  return typeof operator === 'object' ? nameOf(operator) : operator;
}

/** @param text the origin as an entry has it. A text that cannot be parsed becomes `by` unchanged. */
export function parseOrigin(text: string): EntryOrigin {
  if (KEY.test(text)) return { by: KEY_PREFIX + text.slice(1) };
  return operatorOf(text) ?? { by: text };
}

const KEY = /^k[a-z0-9]{8}$/;

function operatorOf(text: string): EntryOrigin | undefined {
  if (!text.startsWith('o')) return undefined;
  try {
    const { by, reason } = JSON.parse(Buffer.from(text.slice(1), 'base64url').toString()) as Record<string, unknown>;
    return typeof by === 'string' && typeof reason === 'string' ? { by, reason } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether an operator made the entry. */
export function isOfOperator(origin: string | undefined): boolean {
  return origin !== undefined && operatorOf(origin) !== undefined;
}

/** Whether an entry of this type may have this origin, for the audit. */
export function mayHaveOrigin(letter: string, origin: string | undefined): boolean {
  const { grant, adjust, purchase, debit } = entryLetters;
  if (origin === undefined) return letter !== grant && letter !== adjust;
  if (letter === adjust) return operatorOf(origin) !== undefined;
  // An operator grants coins to many accounts at once with entries of type `grant`.
  if (letter === grant && operatorOf(origin) !== undefined) return true;
  return (letter === grant || letter === purchase || letter === debit) && KEY.test(origin);
}
