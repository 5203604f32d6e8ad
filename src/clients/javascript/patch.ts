import type { Message } from './watched.ts';

type Members = Record<string, unknown>;

/** An operation of a JSON Patch (RFC 6902) from the service. The position in a list is always a number, never `-`. */
export interface Operation {
  op: 'add' | 'replace' | 'remove';
  path: string;
  value?: unknown;
}

/**
 * The room after a patch. The given room is not changed: lists and objects on the path to a change are copied, the others are shared.
 * @throws Error if the patch does not start from this room
 */
export function patched(room: unknown, { from, ops }: Message): unknown {
  if (from !== (room as Members)['seq']) throw new Error();
  for (const { op, path, value } of ops as Operation[]) room = changed(room, path.split('/').slice(1), op, value);
  return room;
}

/** The value after one operation on the member at a path. @param given the new value of the member; undefined: the member is removed */
function changed(value: unknown, [part, ...path]: string[], op: string, given: unknown): unknown {
  const name = part!.replace(/~1/g, '/').replace(/~0/g, '~');
  const isNew = op === 'add' && !path.length;
  if (!isNew && !Object.keys(value as Members).includes(name)) throw new Error();
  if (path.length) given = changed((value as Members)[name], path, op, given);
  if (Array.isArray(value)) {
    const list = [...(value as unknown[])];
    list.splice(+name, isNew ? 0 : 1, ...(given === undefined ? [] : [given]));
    return list;
  }
  // A computed name, or the rest of a destructured object, treats `__proto__` as a member. An assignment would set the prototype.
  if (given !== undefined) return { ...(value as Members), [name]: given };
  const { [name]: _, ...rest } = value as Members;
  return rest;
}

/** Freezes a room, so that a listener cannot change it: the next patch must apply to the room that the service has. */
export function freeze(value: unknown): void {
  // If a value is frozen, its parts are frozen too, so they are skipped.
  if (!Object.isFrozen(value)) Object.values(Object.freeze(value) as Members).forEach(freeze);
}
