import type { Auditor, Command } from './auditor.ts';

/** How long a key that was set aside stays in Redis, in seconds: long enough to find its owner. */
const KEPT_SECONDS = 30 * 86_400;

/**
 * The name under which a key is set aside: `{id}:aside:index:3` for `{id}:index:3`. The hash tag stays, so that RENAME works on a Cluster.
 */
export function asideOf(key: string): string {
  return key.replace(/^(\{[^}]*\})?:?/, '$1:aside:');
}

/** Commands that rename a key, so that no request reads it. The key is not deleted, because it may be the last evidence of a loss. */
export function setAside(key: string): Command[] {
  return [['RENAME', key, asideOf(key)], expiring(key)];
}

/** Commands that move a member of a set into the set that is named by `asideOf`. */
export function setMemberAside(key: string, member: string): Command[] {
  return [['SMOVE', key, asideOf(key), member], expiring(key)];
}

/** The command that makes the key named by `asideOf` expire. */
export function expiring(key: string): Command {
  return ['EXPIRE', asideOf(key), KEPT_SECONDS];
}

/** Declares the pattern of keys that were set aside, so that the audit does not report them as unknown keys. */
export const asideAuditor: Auditor = { keys: [{ pattern: /^(?:\{[^}]*\})?:aside:/, counted: 'keys set aside', life: 'ends' }] };
