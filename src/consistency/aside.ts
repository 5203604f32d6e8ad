import type { Auditor, Command } from './auditor.ts';

/** How long a key that was set aside stays: long enough to find its owner. */
const KEPT_SECONDS = 30 * 86_400;

/** The key under which another key with a tag is set aside: `{id}:aside:index:3` for `{id}:index:3`. */
export function asideOf(key: string): string {
  return key.replace(/^(\{[^}]*\})?:?/, '$1:aside:');
}

/** Commands that rename a key, so that no request reads it. The key may be the last evidence of a loss, so they do not delete it. */
export function setAside(key: string): Command[] {
  return [['RENAME', key, asideOf(key)], expiring(key)];
}

/** Commands that set a member of a set aside. */
export function setMemberAside(key: string, member: string): Command[] {
  return [['SMOVE', key, asideOf(key), member], expiring(key)];
}

function expiring(key: string): Command {
  return ['EXPIRE', asideOf(key), KEPT_SECONDS];
}

/** Knows the keys that were set aside. */
export const asideAuditor: Auditor = { keys: [{ pattern: /^(?:\{[^}]*\})?:aside:/, counted: 'keys set aside', life: 'ends' }] };
