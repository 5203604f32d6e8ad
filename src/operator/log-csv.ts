import type { LogEntry } from './operator-log.ts';

/** The operators' log as CSV (RFC 4180). */

export const LOG_CSV_HEAD = 'number,at,by,action,account,what,why,outcome,result\r\n';

/** The line of an entry. */
export function logCsvLine({ number, at, by, action, what, why, outcome }: LogEntry): string {
  const { account = '', ...others } = what;
  const { word = 'not known', ...result } = outcome ?? {};
  const cells = [number, new Date(at).toISOString(), by, action, account, detailsOf(others), why, word, detailsOf(result)];
  return `${cells.map((cell) => cellOf(String(cell))).join(',')}\r\n`;
}

function detailsOf(details: Readonly<Record<string, string | number>>): string {
  return Object.keys(details).length === 0 ? '' : JSON.stringify(details);
}

/**
 * Spreadsheets execute a cell that begins with such a character as a formula (CWE-1236). Reasons are free text, and an accountId may begin
 * with a dash.
 */
const FORMULA = /^[=+\-@\t\r]/;

function cellOf(text: string): string {
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
