import { pairsOf } from '../redis/reply-pairs.ts';
/**
 * Which value a field of an account gets when a guest that has the field too moves into the account:
 * - `own`: the account's value, or none. The guest's value is dropped.
 * - `earlier`, `later`: the earlier or the later of both times, in milliseconds since 1970. If only one of the accounts has a time, that
 *   time is kept.
 * - `purchase_lines`: the lines of both accounts, as many as `purchase-lines.lua` allows.
 */
export type MergeRule = 'own' | 'earlier' | 'later' | 'purchase_lines';

/**
 * Fields of the account's hash that change together. When a guest moves in, the merge rule is applied to the first field, and the other
 * fields then get the values of the same account.
 */
export interface HeldFields<Name extends string = string> {
  readonly names: readonly [Name, ...Name[]];
  readonly merge: MergeRule;
}

export function heldFields<const Name extends string>(merge: MergeRule, ...names: [Name, ...Name[]]): HeldFields<Name> {
  return { names, merge };
}

/** Values of an account's fields, by name. A field that was never set is missing, or '' after a move. */
export type FieldValues = Readonly<Record<string, string>>;

/** @param words the answer of HGETALL: name, value, name, value … */
export function fieldValues(words: readonly string[]): FieldValues {
  return Object.fromEntries(pairsOf(words));
}

/** The values of the named fields of an account, by name. A field that was never set is ''. */
export function valuesOf<const Name extends string>(values: FieldValues, names: readonly Name[]): Record<Name, string> {
  return Object.fromEntries(names.map((name) => [name, values[name] ?? ''])) as Record<Name, string>;
}

/** Whether the account is a guest's or that of an app store's user. Only the latter has the field `store`. */
export function kindOf(fields: FieldValues): 'guest' | 'store' {
  return (fields['store'] ?? '') === '' ? 'guest' : 'store';
}

/** Parses milliseconds since 1970 in a field of an account. Undefined for a field that was never set. */
export function timeOf(field: string | undefined): number | undefined {
  return field === '' || field === undefined ? undefined : Number(field);
}

/**
 * Milliseconds since 1970 as text in ISO 8601. Undefined for a field of an account that was never set, which is undefined or ''. A damaged
 * field, which is no time, stays as it is, so that it hides nothing else of the account.
 */
export function isoTime(field: string | number | undefined): string | undefined {
  if (field === '' || field === undefined) return undefined;
  const time = new Date(Number(field));
  return Number.isNaN(time.getTime()) ? String(field) : time.toISOString();
}
