/** A line of a file of accounts. */
export interface Line {
  readonly line: number;
  readonly accountId: string;
}

const ACCOUNT_ID = /^[\w-]{22}$/;
const COLUMNS: Readonly<Record<string, 'accountId' | 'installId'>> = {
  accountid: 'accountId',
  account_id: 'accountId',
  account: 'accountId',
  installid: 'installId',
  install_id: 'installId',
};
const INSTALL_ID = /^[\x21-\x7e]{8,128}$/;

/** For more accounts there is the tool in a terminal, which takes a million. */
const MOST_LINES = 100_000;

/**
 * Reads accounts from a CSV text, as the tool does: in a column `accountId` or `installId`, or, without a header, accountIds in the first
 * column. An installId is a secret: only the accountId, computed here, is sent.
 * @throws Error that names the line that does not fit
 */
export async function accountsOf(text: string): Promise<Line[]> {
  const rows = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((row, index) => ({ line: index + 1, row }))
    .filter(({ row }) => row.trim() !== '');
  const [header] = rows;
  if (header === undefined) throw new Error('There is no line.');
  if (rows.length > MOST_LINES) throw new Error('There are more than 100,000 lines: use npm run admin -- coins grant.');
  const separator = /[,;\t]/.exec(header.row.replaceAll(/"[^"]*"/g, ''))?.[0] ?? ',';
  const head = cellsOf(header.row, separator);
  const named = head.flatMap((cell, at) => {
    const kind = COLUMNS[cell.toLowerCase()];
    return kind === undefined ? [] : [{ at, kind }];
  });
  if (named.length > 1) throw new Error(`Line ${header.line} has two columns that name accounts: leave one of them.`);
  const [column] = named;
  if (column === undefined && !ACCOUNT_ID.test(head[0]!))
    throw new Error(
      `Line ${header.line} is neither a header with a column accountId or installId, nor does it begin with an accountId. A file of installIds needs a header.`,
    );
  const { at, kind } = column ?? { at: 0, kind: 'accountId' };
  return Promise.all(
    rows.slice(column === undefined ? 0 : 1).map(async ({ line, row }) => {
      const cell = cellsOf(row, separator)[at] ?? '';
      // The message must not quote the cell, which may be a secret.
      if (!(kind === 'accountId' ? ACCOUNT_ID : INSTALL_ID).test(cell))
        throw new Error(`Line ${line} has no ${kind}, which has ${kind === 'accountId' ? '22' : '8 to 128'} characters.`);
      return { line, accountId: kind === 'accountId' ? cell : await accountIdOf(cell) };
    }),
  );
}

/** Computed as in the service: the first 132 bits of a SHA-256. */
async function accountIdOf(installId: string): Promise<string> {
  // Browsers allow hashing only on pages over TLS or from this machine.
  if (globalThis.crypto?.subtle === undefined) throw new Error('installIds need the console over https: browsers hash them only there.');
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`coinop:account:${installId}`));
  const text = btoa(String.fromCodePoint(...new Uint8Array(bytes)));
  return text.replaceAll('+', '-').replaceAll('/', '_').slice(0, 22);
}

/** Splits a line into cells, with quotes as in RFC 4180. */
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
