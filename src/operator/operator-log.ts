import { defineScript } from '../redis/script.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';

/**
 * The Redis key of a list: the operators' log, with a JSON entry for each change, the oldest first. Entries are never removed, because an
 * operator could otherwise flood the log to hide a change. An entry takes some 300 bytes.
 */
export const OPERATOR_LOG = '{operator-log}';

/** Appends the entry of a change to the operators' log, just before the change happens. Answers begun(number of the entry). */
const begin = defineScript({
  name: 'operator/begin-change',
  lua: `return {'begun', string.format('%.0f', redis.call('RPUSH', log, entry))}`,
  keys: ['log'],
  args: ['entry'],
  answers: ['begun'],
  durable: true,
});

/**
 * Records the outcome of a change in its entry of the operators' log. If a backup has been restored since, the log may have another entry
 * with this number. That entry is not changed.
 */
const end = defineScript({
  name: 'operator/end-change',
  lua: `if redis.call('LINDEX', log, number - 1) ~= begun then return {'other'} end
    redis.call('LSET', log, number - 1, ended)
    return {'ended'}`,
  keys: ['log'],
  args: ['number', 'begun', 'ended'],
  answers: ['ended', 'other'],
  durable: true,
});

const readPage = defineScript({
  file: new URL('read-log.lua', import.meta.url),
  keys: ['log'],
  args: ['before', 'limit'],
  answers: ['page'],
  readOnly: true,
});

type Details = Readonly<Record<string, string | number>>;

/**
 * Outcome of a change. `refused` and `failed` (by Redis): nothing was changed. `unknown`: Redis did not confirm the change, which may have
 * happened. If an entry has no outcome, its process died or lost Redis during the change.
 */
export type Outcome = { readonly word: 'done' | 'refused' | 'failed' | 'unknown' } & Details;

export interface BegunChange {
  /** `accounts adjust` */
  readonly action: string;
  /** `user@host`, `<name> as user@host`, or `key:<id>`. */
  readonly by: string;
  readonly what: Details;
  readonly why: string;
}

export interface LogEntry extends BegunChange {
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly outcome: Outcome | undefined;
}

interface LogServices {
  readonly scripts: ScriptRunner;
  readonly now: () => number;
}

/** The entry of a change that has not happened yet. */
export interface BegunEntry {
  readonly number: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly text: string;
}

/** Writes the entry of a change, just before the change happens. */
export async function beginChange(change: BegunChange, { scripts, now }: LogServices): Promise<BegunEntry> {
  const { action, by, what, why } = change;
  const at = now();
  const text = JSON.stringify({ at, by, action, what, why });
  const [, number = ''] = await scripts.run(begin, { log: OPERATOR_LOG }, { entry: text });
  return { number, at, text };
}

export async function endChange(
  { number, text }: Pick<BegunEntry, 'number' | 'text'>,
  outcome: Outcome,
  { scripts }: LogServices,
): Promise<void> {
  const ended = JSON.stringify({ ...(JSON.parse(text) as object), outcome });
  await scripts.run(end, { log: OPERATOR_LOG }, { number, begun: text, ended });
}

/** @param before the page goes on before the entry with this number; 0: it begins with the newest */
export async function readLog(before: number, limit: number, { scripts }: LogServices): Promise<LogEntry[]> {
  const [, firstNumber = '0', ...texts] = await scripts.run(readPage, { log: OPERATOR_LOG }, { before, limit });
  return texts.map((text, index) => ({ ...parseEntry(text), number: Number(firstNumber) - index }));
}

/** Undefined for a text that no version of the service writes. */
export function readEntry(text: string): Omit<LogEntry, 'number'> | undefined {
  try {
    const { at, by, action, what, why, outcome } = JSON.parse(text) as Record<string, unknown>;
    const isWhole = isTime(at) && [by, action, why].every((part) => typeof part === 'string') && isDetails(what);
    if (!isWhole || !(outcome === undefined || isDetails(outcome))) return undefined;
    return { at, by, action, what, why, outcome } as unknown as Omit<LogEntry, 'number'>;
  } catch {
    return undefined;
  }
}

/** Whether a number of milliseconds is within the range of dates, because it is shown as a date. */
function isTime(value: unknown): boolean {
  return Number.isSafeInteger(value) && !Number.isNaN(new Date(value as number).getTime());
}

function isDetails(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((detail) => typeof detail === 'string' || typeof detail === 'number');
}

/** An unreadable entry is shown as its text. */
function parseEntry(text: string): Omit<LogEntry, 'number'> {
  return readEntry(text) ?? { at: 0, by: '', action: 'unreadable', what: { entry: text.slice(0, 400) }, why: '', outcome: undefined };
}
