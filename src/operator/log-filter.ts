import { z } from 'zod';
import { People, PERSON_ID } from '../server/identity/people.ts';
import { KEY_PREFIX } from '../server/identity/server-keys.ts';
import { operatorGrantKeys } from '../features/coins/operator-history.ts';
import { ServerKeyChanges } from '../server/identity/server-key-changes.ts';
import type { Parts } from '../redis/unreadable.ts';
import { factsWhereItIs } from './account-facts.ts';
import { Account } from './named-accounts.ts';
import type { OperatorServices } from './operation.ts';
import { spanFields, spanOf } from './span.ts';
import { readLog, type LogEntry } from './operator-log.ts';

/** A time in a query. */
export const Time = z.iso.datetime({ offset: true, error: 'Must be a time such as 2026-11-22T12:00:00Z' });

/** The filters of a search in the operators' log, as fields of a query. */
export const logFilterFields = {
  account: Account.optional().meta({
    description:
      'Changes of this account, and grants to many accounts, also taken back, if they are in the newest 2,000 entries of its ledger. Changes of a guest that ' +
      'moved into the account are under the accountId of the guest.',
  }),
  operator: z.string().min(1).max(64).optional().meta({
    description:
      'Changes by this operator: `user@host`, the name given by `--by`, `key:<id>`, `person:<id>`, or the whole name of a key or a person.',
    example: 'key:ab12cd34',
  }),
  action: z
    .string()
    .regex(/^[a-z-]{1,24}( [a-z-]{1,24})?$/, 'Must be a group such as accounts, or a group and a command such as accounts ban')
    .optional()
    .meta({
      description: 'Changes of this kind, such as `accounts ban`, or of all kinds of a group, such as `accounts`.',
      example: 'accounts ban',
    }),
  ...spanFields('Changes'),
};

type LogFilter = z.output<z.ZodObject<typeof logFilterFields>>;

/** The number of entries that one script reads, in less than a millisecond of Redis and of this process. */
const READ_AT_ONCE = 200;

/** The most entries that are searched for one page. They take 15 ms of this process, with other work in between. */
const MOST_ENTRIES_READ = 5000;

/** Each process writes the log by its own clock. So the times of entries may be out of order by this many milliseconds. */
const CLOCKS_DIFFER_MS = 3_600_000;

export interface LogPage {
  readonly entries: readonly LogEntry[];
  /** The next page continues before the entry with this number. Undefined on the last page. */
  readonly next: number | undefined;
}

/**
 * A page of matching entries, newest first. It may be short, or empty, although more pages follow.
 * @param before the page goes on before the entry with this number; 0: it begins with the newest
 * @param isGone nobody waits for the answer any more: the search ends
 * @param parts notes what cannot be read
 */
export async function searchLog(
  filter: LogFilter,
  before: number,
  limit: number,
  services: OperatorServices,
  isGone: () => boolean,
  parts: Parts,
): Promise<LogPage> {
  return (
    (await parts.read('operators’ log', () => search(filter, before, limit, services, isGone, parts))) ?? { entries: [], next: undefined }
  );
}

async function search(
  filter: LogFilter,
  before: number,
  limit: number,
  services: OperatorServices,
  isGone: () => boolean,
  parts: Parts,
): Promise<LogPage> {
  const { from, to } = spanOf(filter);
  const { account } = filter;
  // The entry for a grant to many accounts does not name the accounts. But their ledgers have its key.
  const grantKeys =
    account === undefined ? NO_KEYS : ((await parts.read('ledger', () => grantKeysOf(account, services, parts))) ?? NO_KEYS);
  const operators = filter.operator === undefined ? [] : [filter.operator, ...(await operatorsCalled(filter.operator, services))];
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const found: LogEntry[] = [];
  let next = before === 0 && to !== undefined ? await placeOf(to + CLOCKS_DIFFER_MS, services) : before;
  for (let searched = 0; searched < MOST_ENTRIES_READ && !isGone();) {
    const most = isFiltered ? READ_AT_ONCE : Math.min(limit - found.length, READ_AT_ONCE);
    const entries = await readLog(next, most, services);
    for (const entry of entries) {
      searched++;
      next = entry.number;
      if (from !== undefined && entry.at < from - CLOCKS_DIFFER_MS && entry.at > 0) return { entries: found, next: undefined };
      if (fits(entry, filter, grantKeys, operators, from, to)) found.push(entry);
      if (next === 1) return { entries: found, next: undefined };
      if (found.length === limit) return { entries: found, next };
    }
    if (entries.length === 0) return { entries: found, next: undefined };
  }
  return { entries: found, next };
}

/** The operators of this name: people and keys. Keys that have ended are among them, because a rotated key keeps its name. */
async function operatorsCalled(name: string, { scripts }: OperatorServices): Promise<string[]> {
  if (name.startsWith(KEY_PREFIX) || PERSON_ID.test(name)) return [];
  const [keys, people] = await Promise.all([new ServerKeyChanges(scripts, Date.now).operators(), new People(scripts).all()]);
  const all = [
    ...keys.map((key) => ({ name: key.name, by: KEY_PREFIX + key.id })),
    ...people.map((person) => ({ name: person.name, by: person.id })),
  ];
  return all.filter((operator) => operator.name.toLowerCase() === name.toLowerCase()).map(({ by }) => by);
}

async function grantKeysOf(account: string, services: OperatorServices, parts: Parts): Promise<ReadonlySet<string>> {
  const { accountId } = await factsWhereItIs(account, services, parts);
  return operatorGrantKeys(accountId, services.scripts, parts);
}

const NO_KEYS: ReadonlySet<string> = new Set();

function fits(
  entry: LogEntry,
  { account, action }: LogFilter,
  grantKeys: ReadonlySet<string>,
  operators: readonly string[],
  from: number | undefined,
  to: number | undefined,
): boolean {
  if ((from !== undefined && entry.at < from) || (to !== undefined && entry.at >= to)) return false;
  if (action !== undefined && entry.action !== action && !entry.action.startsWith(`${action} `)) return false;
  if (
    operators.length > 0 &&
    ![entry.by, ...entry.by.split(' as '), String(entry.what['approvedBy'])].some((name) => operators.includes(name))
  )
    return false;
  if (/^coins (grant|take-back)$/.test(entry.action) && grantKeys.has(String(entry.what['key']))) return true;
  return account === undefined || [entry.what, entry.outcome ?? {}].some((details) => Object.values(details).includes(account));
}

/** The number of the first entry at or after a time, found by binary search. 0: the newest. */
async function placeOf(time: number, services: OperatorServices): Promise<number> {
  const [newest] = await readLog(0, 1, services);
  if (newest === undefined || newest.at < time) return 0;
  let [low, high] = [1, newest.number];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [entry] = await readLog(middle + 1, 1, services);
    if (entry !== undefined && entry.at < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
