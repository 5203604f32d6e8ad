import { csvLine } from './csv.ts';
import type { LogEntry } from './operator-log.ts';

/** The operators' log as CSV. */

export const LOG_CSV_HEAD = 'number,at,by,action,account,what,why,outcome,result\r\n';

/** The line of an entry. */
export function logCsvLine({ number, at, by, action, what, why, outcome }: LogEntry): string {
  const { account = '', ...others } = what;
  const { word = 'not known', ...result } = outcome ?? {};
  return csvLine([number, new Date(at).toISOString(), by, action, account, detailsOf(others), why, word, detailsOf(result)]);
}

function detailsOf(details: Readonly<Record<string, string | number>>): string {
  return Object.keys(details).length === 0 ? '' : JSON.stringify(details);
}
