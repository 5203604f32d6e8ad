/** Any key of the account. All share the account's hash tag, so a Redis Cluster keeps them in one slot. @param name `ledger` */
export function keyOfAccount(accountId: string, name: string): string {
  return `{${accountId}}:${name}`;
}

/** Matches the whole key of an account. Its first group is the account's id. @param name such as `ledger`, or a pattern of names */
export function accountKeyPattern(name: string | RegExp): RegExp {
  return new RegExp(`^\\{([^}:]+)\\}:${typeof name === 'string' ? name : name.source}$`);
}

/** Key of the account's fields. */
export function accountKey(accountId: string): string {
  return `{${accountId}}:account`;
}

/**
 * Key of the account's standing: whether it may act, the generation of its sessions, the guests that moved into it. `standing.ts` has the
 * format. Most accounts have none. Its name ends with `moves` because it once recorded moves only.
 */
export function standingKey(accountId: string): string {
  return `{${accountId}}:moves`;
}

export function accountOfKey(key: string): string {
  return key.slice(1, key.indexOf('}'));
}

/** Key of the mark of a signed-out session. Redis keeps the mark for as long as the session's cookie could verify. */
export function signedOutKey(accountId: string, sessionId: string): string {
  return `{${accountId}}:out:${sessionId}`;
}
