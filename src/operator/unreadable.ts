import { z } from 'zod';

/** Says in a list that one account or room cannot be read. */
export const UNREADABLE = 'Its data cannot be read: npm run audit says why.';

/** A field of the reply of each read. */
export const unreadableField = {
  unreadable: z
    .array(z.string())
    .optional()
    .meta({
      description:
        'What is left out because its data in Redis is damaged: `npm run audit` says why. Left out itself if nothing is damaged.',
      example: ['coins', 'purchase 96SoSJTXzIOdMm_k4I2qBI'],
    }),
};

/** The most rounds in which values are removed. Each round removes one level at most, and no reply has more levels. */
const MOST_ROUNDS = 10;

type Path = readonly PropertyKey[];

/**
 * Removes the values of a reply that do not have the declared shape, such as an impossible time, because their data is damaged. If a value
 * has to be there, the object around it is removed too. The names of the removed values are added to `unreadable`.
 */
export function readableReply<Reply extends object>(shape: z.ZodObject, reply: Reply): Reply {
  let left: unknown = reply;
  const names = new Set<string>((reply as { readonly unreadable?: readonly string[] }).unreadable ?? []);
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const { error } = shape.safeParse(left);
    if (error === undefined) break;
    const checked = left;
    for (const { path } of error.issues) {
      // A value that is not there has to be there, so the object around it goes.
      const wrong = valueAt(checked, path) === undefined ? path.slice(0, -1) : path;
      if (wrong.length === 0) continue;
      if (valueAt(checked, wrong) !== undefined) names.add(path.map(String).join('.'));
      left = without(left, wrong);
    }
    left = withoutHoles(left);
  }
  const unreadable = names.size === 0 ? undefined : [...names].toSorted();
  return { ...(left as Reply), unreadable };
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce((inside: unknown, name) => (inside as Record<PropertyKey, unknown> | undefined)?.[name], value);
}

/** Copies a value without the value at a path. A hole stays in a list, so that the places of the other elements stay the same. */
function without(value: unknown, [name, ...path]: Path): unknown {
  if (typeof value !== 'object' || value === null || name === undefined) return value;
  const inside = (value as Record<PropertyKey, unknown>)[name];
  const changed = path.length === 0 ? undefined : without(inside, path);
  return Array.isArray(value) ? value.with(Number(name), changed) : { ...value, [name]: changed };
}

function withoutHoles(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((each) => each !== undefined).map(withoutHoles);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutHoles(each)]));
}
