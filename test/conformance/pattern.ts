import { isDeepStrictEqual } from 'node:util';
import type { Json, Pattern } from './case.ts';

/** The texts for which the names of a case stand. */
export type Names = Map<string, Json>;

const isObject = (value: unknown): value is Record<string, Json | undefined> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Why a value does not fit a pattern, or undefined if it does. New names get their values. */
export function misfit(value: unknown, pattern: Pattern | undefined, names: Names, at = ''): string | undefined {
  const wrong = (): string => `${at || 'it'} is ${JSON.stringify(value)} and not ${JSON.stringify(pattern)}`;
  if (typeof pattern === 'string' && pattern.startsWith('$')) return named(value as Json, pattern, names) ? undefined : wrong();
  if (Array.isArray(pattern)) {
    if (!Array.isArray(value) || value.length !== pattern.length) return wrong();
    return first(pattern.map((part, index) => misfit(value[index], part, names, `${at}[${index}]`)));
  }
  if (!isObject(pattern)) return isDeepStrictEqual(value, pattern) ? undefined : wrong();
  if (!isObject(value)) return wrong();
  const { '...': isOpen, ...fields } = pattern;
  const extra = Object.keys(value).filter((name) => !(name in fields) && value[name] !== undefined);
  if (!isOpen && extra.length > 0)
    return `${at || 'it'} has also ${extra.map((name) => `${name}: ${JSON.stringify(value[name])}`).join(', ')}`;
  return first(Object.entries(fields).map(([name, part]) => misfit(value[name], part, names, at ? `${at}.${name}` : name)));
}

const first = (problems: (string | undefined)[]): string | undefined => problems.find((problem) => problem !== undefined);

function named(value: Json | undefined, name: string, names: Names): boolean {
  if (value === undefined) return false;
  if (name === '$any') return true;
  if (name === '$number') return typeof value === 'number';
  if (typeof value !== 'string' || value === '') return false;
  if (name === '$text') return true;
  if (names.has(name)) return names.get(name) === value;
  // Two names are two values: a key that has to be new must not be the old one.
  if ([...names.values()].includes(value)) return false;
  names.set(name, value);
  return true;
}

/** The value with the texts of the names in it, also within texts. */
export function filled<T extends Json | undefined>(value: T, names: Names): T {
  const text = JSON.stringify(value);
  if (text === undefined) return value;
  const of = (name: string): string => JSON.stringify(names.get(name) ?? name).slice(1, -1);
  return JSON.parse(text.replace(/\$[a-zA-Z]\w*/g, of)) as T;
}
