import { account, coins, labelOf, some, time, yesNo, type Cell, type Listing, type Part } from './cells.ts';

type Reply = Readonly<Record<string, unknown>>;

/** The parts of a reply if its operation does not define them: its fields as facts, and its lists of objects as tables. */
export function shownReply(reply: Reply): Part[] {
  const fields = Object.entries(reply);
  const facts = fields.flatMap(([name, value]) => (isTable(value) ? [] : [[labelOf(name), cellOf(name, value)] as const]));
  return [{ title: '', facts }, ...fields.flatMap(([name, value]) => (isTable(value) ? some(listingOf(name, value), value) : []))];
}

/** What a reply leaves out because its data is damaged. */
export const unreadableParts = (unreadable: readonly string[] = []): Part[] =>
  unreadable.length === 0 ? [] : [`Left out, because its data is damaged (npm run audit says why): ${unreadable.join(', ')}.`];

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
