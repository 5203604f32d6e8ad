/**
 * A Redis key of the account. All keys of an account share its hash tag, so a Redis Cluster keeps them in one slot.
 * @param name `ledger`
 */
export function keyOfAccount(accountId: string, name: string): string {
  return `{${accountId}}:${name}`;
}

/**
 * The pattern of a whole Redis key of an account. Its first group is the account's id.
 * @param name such as `ledger`, or a pattern of names
 */
export function accountKeyPattern(name: string | RegExp): RegExp {
  return new RegExp(`^\\{([^}:]+)\\}:${typeof name === 'string' ? name : name.source}$`);
}

/** The Redis key of the hash with the account's fields. */
export function accountKey(accountId: string): string {
  return `{${accountId}}:account`;
}

/**
 * The Redis key of the account's standing: whether the account may act, the generation of its sessions, and the guests that moved into it.
 * `standing.ts` has the format. Most accounts have no such key. The key ends with `moves` because it once recorded moves only.
 */
export function standingKey(accountId: string): string {
  return `{${accountId}}:moves`;
}

export function accountOfKey(key: string): string {
  return key.slice(1, key.indexOf('}'));
}

/** The Redis key that marks a session as signed out. Redis keeps the key for as long as the session's cookie could verify. */
export function signedOutKey(accountId: string, sessionId: string): string {
  return `{${accountId}}:out:${sessionId}`;
}
