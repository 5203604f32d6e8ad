import type { Message } from './watched.ts';

type Members = Record<string, unknown>;

/** An operation of a JSON Patch (RFC 6902), as the service makes them. Its place in a list is always a number. */
export interface Operation {
  op: 'add' | 'replace' | 'remove';
  path: string;
  value?: unknown;
}

/**
 * The room after a patch. The room before stays as it is: lists and objects on the way to a change are copied, the others are shared.
 * @throws Error for a patch that does not fit
 */
export function patched(room: unknown, { from, ops }: Message): unknown {
  if (from !== (room as Members)['seq']) throw new Error();
  for (const { op, path, value } of ops as Operation[]) room = changed(room, path.split('/').slice(1), op, value);
  return room;
}

/** @param given what is set. Undefined: the member is removed */
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
  // A computed name and a rest take `__proto__` for a member, where an assignment would set the prototype.
  if (given !== undefined) return { ...(value as Members), [name]: given };
  const { [name]: _, ...rest } = value as Members;
  return rest;
}

/** A listener must not change a room: the next patch is made for the room that the service has. */
export function freeze(value: unknown): void {
  // The parts of what is frozen are frozen too.
  if (!Object.isFrozen(value)) Object.values(Object.freeze(value) as Members).forEach(freeze);
}
