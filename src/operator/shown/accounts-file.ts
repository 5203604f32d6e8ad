/** Files of accounts. The tool and the page read accounts from a file in the same way, so this module runs in browsers too. */

export type Kind = 'accountId' | 'installId';

/** A line that names an account. An installId is a secret. So callers pass on only the accountId that it stands for. */
export interface NamedLine {
  readonly line: number;
  readonly kind: Kind;
  readonly text: string;
}

/** The accounts of a file. */
export interface NamedLines {
  readonly lines: readonly NamedLine[];
  /** The names of the columns that are not read, for people to see. Otherwise they might think that a column of coins counts. */
  readonly unread: readonly string[];
}

/** A file does not fit. The message quotes nothing from a line, because the line may hold an installId. */
export class UnfitFile extends Error {}

/** Most characters of a row. Other columns may hold notes. */
const MOST_ROW = 4096;

/** The most characters of a column's name in a message. */
const MOST_NAME = 40;

/** Most problems that one message names. */
const TOLD = 5;

const FORMATS: Readonly<Record<Kind, { readonly format: RegExp; readonly problem: string }>> = {
  accountId: { format: /^[\w-]{22}$/, problem: 'has no accountId, which has 22 characters' },
  installId: { format: /^[\x21-\x7e]{8,128}$/, problem: 'has no installId of 8 to 128 visible characters' },
};

const COLUMNS: Readonly<Record<string, Kind>> = {
  accountid: 'accountId',
  account_id: 'accountId',
  account: 'accountId',
  installid: 'installId',
  install_id: 'installId',
};

/**
 * How spreadsheets damage ids: they round a long number, turn a text that begins like a formula into an error, and fill a narrow column
 * with signs.
 */
const DAMAGED = /^(?:[-+]?\d+(?:[.,]\d+)?E[-+]?\d+|#(?:NAME\?|REF!|VALUE!|N\/A|NUM!|DIV\/0!|NULL!|#+))$/i;

/** Spreadsheets, and the report of a grant, put an apostrophe before a text that begins like a formula. */
const GUARDED = /^'(?=[-+=@])/;

/**
 * Reads CSV (RFC 4180) with one account per row. The account is in a column `accountId` or `installId`; without a header it is an accountId
 * in the first column. Columns are separated by commas, semicolons or tabs. Excel's first line `sep=;` may name the separator. A quoted
 * text may have line breaks. Rows without any text are skipped.
 * @param file its name in messages
 * @param beyond what to do with a file of more than `most` accounts
 * @throws UnfitFile that names the lines that do not fit
 */
export function namedLines(text: string, file: string, { most, beyond }: { readonly most: number; readonly beyond: string }): NamedLines {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const [, told] = /^"?sep=([,;\t])"?\s*$/i.exec(lines[0]!) ?? [];
  if (told !== undefined) lines[0] = '';
  const firstLine = lines.findIndex((line) => line.trim() !== '');
  if (firstLine === -1) throw new UnfitFile(`${file} is empty.`);
  const separator = told ?? /[,;\t]/.exec(lines[firstLine]!.replaceAll(/"[^"]*"/g, ''))?.[0] ?? ',';
  const head = rowAt(lines, firstLine, separator);
  if (typeof head.cells === 'string') throw new UnfitFile(`${file}: line ${firstLine + 1} ${head.cells}.`);
  const { column, kind, hasHeader } = columnOf(head.cells, `${file}: line ${firstLine + 1}`);
  const named: NamedLine[] = [];
  const problems: string[] = [];
  for (let index = hasHeader ? head.next : firstLine; index < lines.length;) {
    const line = index + 1;
    const { cells, next } = rowAt(lines, index, separator);
    index = next;
    if (typeof cells !== 'string' && cells.every((cell) => cell.trim() === '')) continue;
    const problem = problemOf(cells, head.cells.length, column, kind);
    if (problem !== undefined) problems.push(`line ${line} ${problem}`);
    else named.push({ line, kind, text: textOf((cells as string[])[column]!) });
    if (named.length > most) throw new UnfitFile(`${file} names more than ${most} accounts: ${beyond}.`);
  }
  if (problems.length > 0) {
    const others = problems.length - TOLD;
    throw new UnfitFile(`${file}: ${problems.slice(0, TOLD).join('; ')}${others > 0 ? `; and ${others} more lines do not fit` : ''}.`);
  }
  if (named.length === 0) throw new UnfitFile(`${file} names no account.`);
  const unread = hasHeader ? head.cells.filter((_, index) => index !== column).map((name) => name.trim().slice(0, MOST_NAME)) : [];
  return { lines: named, unread: unread.filter((name) => name !== '') };
}

const textOf = (cell: string): string => cell.trim().replace(GUARDED, '');

/** The row that begins in a given line, and the index of the line after the row. A quoted text may extend over several lines. */
function rowAt(lines: readonly string[], first: number, separator: string): { readonly cells: string[] | string; readonly next: number } {
  let row = lines[first]!;
  for (let next = first + 1; ; next++) {
    const cells = cellsOf(row, separator);
    if (cells !== UNENDED) return { cells, next };
    if (next >= lines.length || row.length + lines[next]!.length > MOST_ROW) return { cells, next: first + 1 };
    row += `\n${lines[next]}`;
  }
}

function columnOf(head: readonly string[], where: string): { column: number; kind: Kind; hasHeader: boolean } {
  const named = head.flatMap((cell, column) => {
    const kind = COLUMNS[cell.trim().toLowerCase()];
    return kind === undefined ? [] : [{ column, kind, hasHeader: true }];
  });
  if (named.length > 1) throw new UnfitFile(`${where} has two columns that name accounts: leave one of them.`);
  if (named.length === 1) return named[0]!;
  if (FORMATS.accountId.format.test(head[0]!.trim())) return { column: 0, kind: 'accountId', hasHeader: false };
  throw new UnfitFile(
    `${where} is neither a header with a column accountId or installId, nor does it begin with an accountId. A file of installIds needs a header.`,
  );
}

function problemOf(cells: readonly string[] | string, columns: number, column: number, kind: Kind): string | undefined {
  if (typeof cells === 'string') return cells;
  if (cells.length !== columns) return `has ${columnsText(cells.length)}, and the first line ${columnsText(columns)}`;
  const { format, problem } = FORMATS[kind];
  const text = textOf(cells[column]!);
  if (DAMAGED.test(text)) return 'has an id that a spreadsheet has damaged, such as 1.2E+19 or #NAME?: export the ids again, as text';
  return format.test(text) ? undefined : problem;
}

function columnsText(count: number): string {
  return count === 1 ? '1 column' : `${count} columns`;
}

const UNENDED = 'has a quote that does not end';

/** The cells of a row, or its problem. */
function cellsOf(line: string, separator: string): string[] | string {
  if (line.length > MOST_ROW) return `has more than ${MOST_ROW} characters`;
  const cells: string[] = [];
  for (let at = 0; at <= line.length;) {
    if (line[at] !== '"') {
      const end = line.indexOf(separator, at);
      cells.push(line.slice(at, end === -1 ? line.length : end));
      if (end === -1) break;
      at = end + 1;
      continue;
    }
    const [whole, text = ''] = /^"((?:[^"]|"")*)"(?!")/.exec(line.slice(at)) ?? [];
    if (whole === undefined) return UNENDED;
    cells.push(text.replaceAll('""', '"'));
    at += whole.length;
    if (at === line.length) break;
    if (line[at] !== separator) return 'has text behind a quote';
    at++;
  }
  return cells;
}
