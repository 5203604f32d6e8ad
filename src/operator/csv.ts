/** Lines of CSV (RFC 4180). */

/**
 * Spreadsheets execute a cell that begins with such a character as a formula (CWE-1236). Reasons are free text, and an accountId may begin
 * with a dash. A number may begin with one too, and is no formula.
 */
const FORMULA = /^[=+\-@\t\r]/;

const NUMBER = /^-?\d+$/;

export function csvLine(cells: readonly (string | number)[]): string {
  return `${cells.map((cell) => cellOf(String(cell))).join(',')}\r\n`;
}

function cellOf(text: string): string {
  const harmless = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
