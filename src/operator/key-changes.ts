import type { ListedKey, NewKey } from '../server/identity/server-key-changes.ts';
import { roleWord, type Role } from '../server/identity/roles.ts';
import type { Scope } from '../server/identity/server-keys.ts';
import { searchLog } from './log-filter.ts';
import type { OperatorServices } from './operation.ts';

/** Changes of server keys: the questions and log entries that the tool and the console share. */

interface AskedChange {
  readonly question: string;
  /** For the log. */
  readonly what: Readonly<Record<string, string>>;
}

/** @param end how long the key is valid, in words */
export function creation(
  { name, scopes, role, game, expiresAt }: NewKey,
  end = expiresAt === undefined ? 'without an end' : `until ${minuteOf(expiresAt)}`,
): AskedChange {
  const reach = game === undefined ? '' : ` of the game ${game}`;
  return {
    question: `Make the server key "${name}" for ${scopesText(scopes, role)}${reach}, ${end}?`,
    what: { name, scopes: scopes.join(','), ...(role === undefined ? {} : { role }), ...(game === undefined ? {} : { game }) },
  };
}

export function rotation({ id, name }: ListedKey, oldEndsAt: number): AskedChange {
  return { question: `Make a new key for "${name}", and end the key ${id} at ${minuteOf(oldEndsAt)} UTC?`, what: { id } };
}

/** @param made the valid keys that were made with this key: a thief of this key may hold them too */
export function revocation({ id, name }: ListedKey, made: readonly ListedKey[]): AskedChange {
  return { question: `Revoke the server key ${id} ("${name}")? Servers that use it are refused at once.${heirsText(made)}`, what: { id } };
}

/** '' without keys, else a sentence with a blank in front. */
export function heirsText(made: readonly ListedKey[]): string {
  const heirs = made.map(({ id, name }) => `${id} ("${name}")`).join(', ');
  return heirs === '' ? '' : ` It has made keys that stay valid: ${heirs}. If it leaked, revoke them too.`;
}

/** Most entries of the log that are searched for keys made with a key. */
const MOST_MADE = 100;

/** The valid keys that an operator with this key has made or rotated. */
export async function madeBy(id: string, keys: readonly ListedKey[], services: OperatorServices): Promise<ListedKey[]> {
  const { entries } = await searchLog({ operator: `key:${id}`, action: 'keys' }, 0, MOST_MADE, services);
  const made = new Set(entries.map(({ outcome }) => outcome?.['id']));
  return keys.filter((key) => key.state === 'valid' && key.id !== id && made.has(key.id));
}

/** Scopes as text. A role other than `admin` follows its scope: `coins, admin:support`. */
function scopesText(granted: readonly Scope[], role: Role = 'admin'): string {
  return granted.map((scope) => (scope === 'admin' ? roleWord(role) : scope)).join(', ');
}

/** `2026-11-22 16:20`, in UTC. */
const minuteOf = (time: number): string => new Date(time).toISOString().slice(0, 16).replace('T', ' ');
