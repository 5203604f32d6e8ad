/**
 * The roles of operators, in the order of their rights, the role with the fewest rights first. Each role includes the rights of the roles
 * before it. `viewer` reads; `support` also signs out, bans, renames and kicks players and corrects small sums; `economist` also corrects
 * any sum, and decides about boards and gifts; `admin` may do everything.
 */
export const roles = ['viewer', 'support', 'economist', 'admin'] as const;

export type Role = (typeof roles)[number];

/** Whether the role has at least the rights of the role `least`. */
export function mayAct(role: Role, least: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(least);
}

/**
 * The prefix of the scope that stands for a role in the record of a key, such as `admin:support`. An older version without roles ignores
 * this scope, so there the key gives no operator's rights.
 */
const PREFIX = 'admin:';

/** The role that a key's record names among its scopes. Undefined: the key is not an operator's. */
export function roleIn(words: readonly string[]): Role | undefined {
  if (words.includes('admin')) return 'admin';
  return roles.find((role) => words.includes(PREFIX + role));
}

/** The scope that stands for the role in the record of a key. */
export function roleWord(role: Role): string {
  return role === 'admin' ? 'admin' : PREFIX + role;
}
