/** Files of accounts. The tool and the page read them alike, so this module runs in browsers too. */

export type Kind = 'accountId' | 'installId';

/** A line that names an account. An installId is a secret, so callers pass on only the accountId that it stands for. */
export interface NamedLine {
  readonly line: number;
  readonly kind: Kind;
  readonly text: string;
}

/** A file does not fit. The message quotes nothing of a line, which may be an installId. */
export class UnfitFile extends Error {}

/** Most characters of a line. Other columns may hold notes. */
const MOST_LINE = 4096;

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
 * Reads CSV (RFC 4180) with one account per line: in a column `accountId` or `installId`, or, without a header, accountIds in the first
 * column. Columns are separated by commas, semicolons or tabs.
 * @param file its name in messages
 * @param beyond what to do with a file of more than `most` accounts
 * @throws UnfitFile that names the lines that do not fit
 */
export function namedLines(text: string, file: string, { most, beyond }: { readonly most: number; readonly beyond: string }): NamedLine[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const firstLine = lines.findIndex((line) => line.trim() !== '');
  if (firstLine === -1) throw new UnfitFile(`${file} is empty.`);
  const separator = /[,;\t]/.exec(lines[firstLine]!.replaceAll(/"[^"]*"/g, ''))?.[0] ?? ',';
  const head = cellsOf(lines[firstLine]!, separator);
  if (typeof head === 'string') throw new UnfitFile(`${file}: line ${firstLine + 1} ${head}.`);
  const { column, kind, hasHeader } = columnOf(head, `${file}: line ${firstLine + 1}`);
  const named: NamedLine[] = [];
  const problems: string[] = [];
  for (let index = firstLine + (hasHeader ? 1 : 0); index < lines.length; index++) {
    if (lines[index]!.trim() === '') continue;
    const cells = cellsOf(lines[index]!, separator);
    const problem = problemOf(cells, head.length, column, kind);
    if (problem !== undefined) problems.push(`line ${index + 1} ${problem}`);
    else named.push({ line: index + 1, kind, text: (cells as string[])[column]!.trim() });
    if (named.length > most) throw new UnfitFile(`${file} names more than ${most} accounts: ${beyond}.`);
  }
  if (problems.length > 0) {
    const others = problems.length - TOLD;
    throw new UnfitFile(`${file}: ${problems.slice(0, TOLD).join('; ')}${others > 0 ? `; and ${others} more lines do not fit` : ''}.`);
  }
  if (named.length === 0) throw new UnfitFile(`${file} names no account.`);
  return named;
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
  return format.test(cells[column]!.trim()) ? undefined : problem;
}

function columnsText(count: number): string {
  return count === 1 ? '1 column' : `${count} columns`;
}

/** The cells of a line, or its problem. */
function cellsOf(line: string, separator: string): string[] | string {
  if (line.length > MOST_LINE) return `has more than ${MOST_LINE} characters`;
  const cells: string[] = [];
  for (let at = 0; at <= line.length;) {
    if (line[at] !== '"') {
      const end = line.indexOf(separator, at);
      cells.push(line.slice(at, end === -1 ? line.length : end));
      if (end === -1) break;
      at = end + 1;
      continue;
    }
    const [whole, text = ''] = /^"((?:[^"]|"")*)"/.exec(line.slice(at)) ?? [];
    if (whole === undefined) return 'has a quote that does not end';
    cells.push(text.replaceAll('""', '"'));
    at += whole.length;
    if (at === line.length) break;
    if (line[at] !== separator) return 'has text behind a quote';
    at++;
  }
  return cells;
}
