import { account, coins, labelOf, time, yesNo, type Cell, type Facts, type Listing } from './cells.ts';

type Reply = Readonly<Record<string, unknown>>;

/** How a reply looks that no module of this folder describes: its fields as facts, and its lists of objects as tables. */
export function shownReply(reply: Reply): {
  readonly facts: Facts;
  readonly tables: readonly (readonly [Listing<Reply>, readonly Reply[]])[];
} {
  const fields = Object.entries(reply);
  return {
    facts: fields.flatMap(([name, value]) => (isTable(value) ? [] : [[labelOf(name), cellOf(name, value)] as const])),
    tables: fields.flatMap(([name, value]) => (isTable(value) ? [[listingOf(name, value), value] as const] : [])),
  };
}

function isTable(value: unknown): value is Reply[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'object' && each !== null);
}

function listingOf(name: string, rows: readonly Reply[]): Listing<Reply> {
  const names = [...new Set(rows.flatMap((each) => Object.keys(each)))];
  return {
    title: labelOf(name),
    none: 'None.',
    columns: Object.fromEntries(names.map((column) => [labelOf(column), (each) => cellOf(column, each[column])])),
  };
}

function cellOf(name: string, value: unknown): Cell {
  if (typeof value === 'boolean') return yesNo(value);
  if (typeof value === 'number') return /coins$/i.test(name) ? coins(value) : value;
  if (typeof value !== 'string') return JSON.stringify(value);
  if (name === 'accountId') return account(value);
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:/.test(value) ? time(value) : value;
}
