/**
 * The parts of a reply in a terminal and on a page: values with their kinds. The modules of this folder run in browsers too, so they import
 * nothing but types and each other.
 */
export type Cell = string | number | undefined | Kind | readonly Cell[];

interface Kind {
  readonly kind: 'time' | 'coins' | 'account' | 'by' | 'name' | 'code' | 'strong' | 'good' | 'waiting' | 'link';
  readonly text: string;
  /** Of a link: words of the page's address. */
  readonly to?: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
}

/** A fact without a value is left out. */
export type Facts = readonly (readonly [name: string, value: Cell])[];

/** A table of rows. Its columns have names. */
export interface Listing<Row> {
  readonly title: string;
  /** In place of a table without rows. */
  readonly none: string;
  readonly columns: Readonly<Record<string, (row: Row) => Cell>>;
}

export interface Table {
  readonly title: string;
  readonly none: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** A part of a shown reply: a sentence, a title with facts, or a table. */
export type Part = string | { readonly title: string; readonly facts: Facts } | Table;

export function table<Row>({ title, none, columns }: Listing<Row>, rows: readonly Row[]): Table {
  return { title, none, columns: Object.keys(columns), rows: rows.map((row) => Object.values(columns).map((cell) => cell(row))) };
}

/** As `table`; nothing without rows. */
export function some<Row>(listing: Listing<Row>, rows: readonly Row[]): Part[] {
  return rows.length === 0 ? [] : [table(listing, rows)];
}

/** The way to the next page. */
export function more(nextCursor: string | undefined): Part[] {
  return nextCursor === undefined ? [] : [`There may be more: --cursor ${nextCursor}`];
}

/** Converts an ISO 8601 time in UTC to `2026-11-22 16:20`. */
export const minute = (iso: string): string => iso.slice(0, 16).replace('T', ' ');

const of =
  (kind: Kind['kind']) =>
  (value: string | number | undefined): Cell =>
    value === undefined ? undefined : { kind, text: String(value) };

/** An ISO 8601 time, shown to the second. */
export const time = of('time');
export const coins = of('coins');
export const strong = of('strong');
export const account = of('account');
/** The operator of a change. */
export const by = of('by');
/** A name that a person chose. */
export const name = of('name');
export const code = of('code');

/** @param isGood undefined: neither good nor bad */
export function state(text: string | undefined, isGood: boolean | undefined): Cell {
  if (text === undefined || isGood === undefined) return text;
  return { kind: isGood ? 'good' : 'waiting', text };
}

export function link(text: string, to: readonly string[], query: Readonly<Record<string, string>> = {}): Cell {
  return { kind: 'link', text, to, query };
}

/** Cells in one line, with commas between those that have a value. */
export function joined(cells: readonly Cell[]): Cell {
  return cells.filter((cell) => cell !== undefined).flatMap((cell, index): Cell[] => (index === 0 ? [cell] : [', ', cell]));
}

/** Nothing if the value is missing, otherwise the cells. */
export const given = <Value>(value: Value | undefined, cells: (value: Value) => Cell): Cell =>
  value === undefined ? undefined : cells(value);

export const yesNo = (isSo: boolean): string => (isSo ? 'yes' : 'no');

/** `1 coin`, `2 coins`, without an exponent. */
export const coinsText = (count: number): string => (count === 1 ? '1 coin' : `${count.toFixed(0)} coins`);

/** `1 entry`, `2 entries`. */
export function entriesText(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`;
}

/** Figures of the log or of an event. A value that contains blanks is quoted, so that it does not look like more figures. */
export function detailsOf(details: Readonly<Record<string, unknown>>): string {
  return Object.entries(details)
    .map(([word, value]) => `${word}=${/^[\w@:.-]+$/.test(String(value)) ? String(value) : JSON.stringify(value)}`)
    .join(' ');
}

/** Turns a field's name into words: `balanceAfterCoins` becomes Balance after coins. */
export function labelOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/^./, (letter) => letter.toUpperCase());
}
