/** Key of the account's fields. All keys of an account share its hash tag: a Redis Cluster would keep them in one slot. */
export function accountKey(accountId: string): string {
  return `{${accountId}}:account`;
}

/**
 * Key of the account's standing: whether it may act, the generation of its sessions, the guests that moved into it. `standing.lua` has the
 * format. Most accounts have none. The name is from when the record told of moves alone.
 */
export function standingKey(accountId: string): string {
  return `{${accountId}}:moves`;
}

/** The account id in a key of the account. */
export function accountOfKey(key: string): string {
  return key.slice(1, key.indexOf('}'));
}

/** Key of the mark of a signed-out session. Redis keeps the mark for as long as the session's cookie could verify. */
export function signedOutKey(accountId: string, sessionId: string): string {
  return `{${accountId}}:out:${sessionId}`;
}
