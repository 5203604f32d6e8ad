/** An operation of a JSON Patch from the service. */
export interface Operation {
  readonly op: 'add' | 'replace' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

/** Applies a JSON Patch strictly by RFC 6902: a path that does not exist is an error. Changes and returns the document. */
export function applyPatch(document: unknown, operations: readonly Operation[]): unknown {
  for (const { op, path, value } of operations) {
    const parts = path
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = parts.pop()!;
    const target = parts.reduce<unknown>((place, part) => {
      if (typeof place !== 'object' || place === null || !Object.hasOwn(place, part)) throw new Error(`no ${path}`);
      return (place as Record<string, unknown>)[part];
    }, document);
    if (Array.isArray(target)) changeList(target, op, Number(last), value);
    else changeObject(target as Record<string, unknown>, op, last, value);
  }
  return document;
}

function changeList(list: unknown[], op: Operation['op'], place: number, value: unknown): void {
  if (place > list.length || (op !== 'add' && place === list.length)) throw new Error(`no place ${place}`);
  list.splice(place, op === 'add' ? 0 : 1, ...(op === 'remove' ? [] : [value]));
}

function changeObject(object: Record<string, unknown>, op: Operation['op'], name: string, value: unknown): void {
  if (op !== 'add' && !Object.hasOwn(object, name)) throw new Error(`no member ${name}`);
  if (op === 'remove') delete object[name];
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
