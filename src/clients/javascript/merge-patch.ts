export type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Applies a JSON merge patch (RFC 7396), deeply, as the service does. Neither argument is changed. */
export function merged(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, merged(members.get(name), value));
  }
  return Object.fromEntries(members);
}

/**
 * One patch with the effect of two patches. Undefined if no single patch has the same effect: `{a: null}` and then `{a: {b: 1}}` replace
 * `a` whole, and a merge patch cannot do that.
 */
export function composed(earlier: unknown, later: unknown): unknown {
  if (!isObject(later)) return later;
  if (!isObject(earlier)) return undefined;
  const members = new Map(Object.entries(earlier));
  for (const [name, value] of Object.entries(later)) {
    const both = members.has(name) ? composed(members.get(name), value) : value;
    if (both === undefined) return undefined;
    members.set(name, both);
  }
  return Object.fromEntries(members);
}

/**
 * The fields of one act that replaces two consecutive acts of the same kind. `data` or `state` (`whole`) replaces the value, `merge` merges
 * into it.
 */
export function combined(earlier: Fields, later: Fields, whole: string): Fields | undefined {
  if (whole in later) return later;
  if (whole in earlier) return { [whole]: merged(earlier[whole], later['merge']) };
  const merge = composed(earlier['merge'], later['merge']);
  return merge === undefined ? undefined : { merge };
}

/** The value after an act with these fields. @param whole the field that replaces the value: `data` or `state` */
export const applied = (value: unknown, fields: Fields, whole: string): unknown =>
  whole in fields ? fields[whole] : merged(value, fields['merge']);
