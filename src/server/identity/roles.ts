/**
 * The roles of operators, from the fewest rights to the most. Each role includes the rights of the roles before it. `viewer` reads;
 * `support` signs out, bans, renames, kicks and corrects small sums; `economist` corrects any sum, and decides about boards and gifts;
 * `admin` may do everything.
 */
export const roles = ['viewer', 'support', 'economist', 'admin'] as const;

export type Role = (typeof roles)[number];

/** Whether the role has at least the rights of the role `least`. */
export function mayAct(role: Role, least: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(least);
}

/**
 * The prefix of the scope by which the record of a key keeps a role, such as `admin:support`. An older version without roles ignores this
 * scope, so there the key gives no rights of an operator.
 */
const PREFIX = 'admin:';

/** The role that a key's record names among its scopes. Undefined: the key is not an operator's. */
export function roleIn(words: readonly string[]): Role | undefined {
  if (words.includes('admin')) return 'admin';
  return roles.find((role) => words.includes(PREFIX + role));
}

/** The scope by which the record of a key keeps the role. */
export function roleWord(role: Role): string {
  return role === 'admin' ? 'admin' : PREFIX + role;
}
