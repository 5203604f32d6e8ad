/** A line of a file of accounts. */
export interface Line {
  readonly line: number;
  readonly accountId: string;
}

const ACCOUNT_ID = /^[\w-]{22}$/;
const NAMES = ['accountid', 'account_id', 'account'];

/** More belong to the tool in a terminal, which takes a million. */
const MOST_LINES = 100_000;

/**
 * Reads accounts of a CSV text: a column `accountId` among others, or without a header accountIds in front.
 * @throws Error that names the line that does not fit
 */
export function accountsOf(text: string): Line[] {
  const rows = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((row, index) => ({ line: index + 1, row }))
    .filter(({ row }) => row.trim() !== '');
  const [first] = rows;
  if (first === undefined) throw new Error('There is no line.');
  if (rows.length > MOST_LINES) throw new Error('There are more than 100,000 lines: use npm run admin -- coins grant.');
  const separator = /[,;\t]/.exec(first.row.replaceAll(/"[^"]*"/g, ''))?.[0] ?? ',';
  const head = cellsOf(first.row, separator);
  const column = head.findIndex((cell) => NAMES.includes(cell.toLowerCase()));
  if (column === -1 && !ACCOUNT_ID.test(head[0]!))
    throw new Error(
      `Line ${first.line} is neither a header with a column accountId, nor does it begin with an accountId. A file of installIds is for npm run admin -- coins grant: they are secrets.`,
    );
  return rows.slice(column === -1 ? 0 : 1).map(({ line, row }) => {
    const accountId = cellsOf(row, separator)[Math.max(column, 0)] ?? '';
    if (!ACCOUNT_ID.test(accountId)) throw new Error(`Line ${line} has no accountId, which has 22 characters.`);
    return { line, accountId };
  });
}

/** Cells with quotes as RFC 4180 has them. */
function cellsOf(row: string, separator: string): string[] {
  const cells: string[] = [];
  for (let at = 0; at <= row.length;) {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*/.exec(row.slice(at));
    const end = row.indexOf(separator, at + (quoted?.[0].length ?? 0));
    cells.push((quoted === null ? row.slice(at, end === -1 ? row.length : end) : quoted[1]!.replaceAll('""', '"')).trim());
    if (end === -1) break;
    at = end + 1;
  }
  return cells;
}

/** A line of CSV. A cell that a spreadsheet would run as a formula has an apostrophe in front (CWE-1236). */
export function csvLine(cells: readonly (string | number | undefined)[]): string {
  const texts = cells.map((cell) => {
    const text = String(cell ?? '');
    const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
  });
  return `${texts.join(',')}\r\n`;
}
