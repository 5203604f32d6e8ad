import { isUtf8 } from 'node:buffer';
import { openSync, closeSync, fstatSync, readFileSync } from 'node:fs';
import { ACCOUNT_ID, accountIdOf, InstallId } from '../../accounts/ids.ts';
import { Failure } from '../../process/command.ts';

/** An account that a file names. An installId is a secret, so only the accountId is passed on. */
export interface ListedAccount {
  readonly line: number;
  readonly accountId: string;
}

/** Most accounts in a file. An operator can cut a larger file. */
const MOST_ACCOUNTS = 1_000_000;
const MOST_BYTES = 256 * 1024 * 1024;
/** Most characters of a line. Other columns may hold notes. */
const MOST_LINE = 4096;
/** Most problems that one message names. */
const TOLD = 5;

/**
 * Reads a CSV file (RFC 4180) with one account per line: in a column `accountId` or `installId`, or, in a file without a header, accountIds
 * in the first column. Columns are separated by commas, semicolons or tabs.
 * @throws Failure that names the lines that do not fit
 */
export function readAccountsFile(path: string): ListedAccount[] {
  return accountsIn(textOf(path), path);
}

export function accountsIn(text: string, path: string): ListedAccount[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const firstLine = lines.findIndex((line) => line.trim() !== '');
  if (firstLine === -1) throw new Failure(`${path} is empty.`);
  const separator = /[,;\t]/.exec(lines[firstLine]!.replaceAll(/"[^"]*"/g, ''))?.[0] ?? ',';
  const head = cellsOf(lines[firstLine]!, separator);
  if (typeof head === 'string') throw new Failure(`${path}: line ${firstLine + 1} ${head}.`);
  const { column, kind, hasHeader } = columnOf(head, `${path}: line ${firstLine + 1}`);
  const accounts: ListedAccount[] = [];
  const problems: string[] = [];
  for (let index = firstLine + (hasHeader ? 1 : 0); index < lines.length; index++) {
    if (lines[index]!.trim() === '') continue;
    const found = accountOf(lines[index]!, { separator, columns: head.length, column, kind });
    if ('problem' in found) problems.push(`line ${index + 1} ${found.problem}`);
    else accounts.push({ line: index + 1, accountId: found.accountId });
    if (accounts.length > MOST_ACCOUNTS) throw new Failure(`${path} names more than ${MOST_ACCOUNTS} accounts: cut it into several files.`);
  }
  if (problems.length > 0) {
    const others = problems.length - TOLD;
    throw new Failure(`${path}: ${problems.slice(0, TOLD).join('; ')}${others > 0 ? `; and ${others} more lines do not fit` : ''}.`);
  }
  if (accounts.length === 0) throw new Failure(`${path} names no account.`);
  return accounts;
}

function textOf(path: string): string {
  let bytes: Buffer;
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      if (size > MOST_BYTES) throw new Failure(`${path} has more than ${MOST_BYTES / 1024 / 1024} MiB: cut it into several files.`);
      bytes = readFileSync(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(`${path} cannot be read: ${(error as Error).message}.`);
  }
  if (!isUtf8(bytes)) throw new Failure(`${path} is not UTF-8. Spreadsheets call it "CSV UTF-8".`);
  return bytes.toString();
}

type Kind = 'accountId' | 'installId';

const COLUMNS: Readonly<Record<string, Kind>> = {
  accountid: 'accountId',
  account_id: 'accountId',
  account: 'accountId',
  installid: 'installId',
  install_id: 'installId',
};

function columnOf(head: readonly string[], where: string): { column: number; kind: Kind; hasHeader: boolean } {
  const named = head.flatMap((cell, column) => {
    const kind = COLUMNS[cell.trim().toLowerCase()];
    return kind === undefined ? [] : [{ column, kind, hasHeader: true }];
  });
  if (named.length > 1) throw new Failure(`${where} has two columns that name accounts: leave one of them.`);
  if (named.length === 1) return named[0]!;
  if (ACCOUNT_ID.test(head[0]!.trim())) return { column: 0, kind: 'accountId', hasHeader: false };
  throw new Failure(
    `${where} is neither a header with a column accountId or installId, nor does it begin with an accountId. A file of installIds needs a header.`,
  );
}

interface Columns {
  readonly separator: string;
  readonly columns: number;
  readonly column: number;
  readonly kind: Kind;
}

/** The problem quotes nothing of the line, which may be an installId. */
function accountOf(line: string, { separator, columns, column, kind }: Columns): { accountId: string } | { problem: string } {
  const cells = cellsOf(line, separator);
  if (typeof cells === 'string') return { problem: cells };
  if (cells.length !== columns) return { problem: `has ${columnsText(cells.length)}, and the first line ${columnsText(columns)}` };
  const text = cells[column]!.trim();
  if (kind === 'accountId') return ACCOUNT_ID.test(text) ? { accountId: text } : { problem: 'has no accountId, which has 22 characters' };
  const { data } = InstallId.safeParse(text);
  return data === undefined ? { problem: 'has no installId of 8 to 128 visible characters' } : { accountId: accountIdOf(data) };
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
