import { z } from 'zod';
import { LOG_CSV_HEAD, logCsvLine } from './log-csv.ts';
import { ShownLogEntry, shownLogEntry } from './log-entry.ts';
import { logFilterFields, searchLog } from './log-filter.ts';
import { Parts } from '../redis/unreadable.ts';
import { operation } from './operation.ts';
import { AFTER_A_PAGE, limitOf, Limit } from './page-limit.ts';
import { more, table } from './shown/cells.ts';
import { logEntries } from './shown/shown-log.ts';

const Cursor = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'Must be the nextCursor of an earlier page')
  .optional()
  .meta(AFTER_A_PAGE);

export const listLog = operation({
  name: 'log list',
  method: 'GET',
  path: '/v1/admin/log',
  operationId: 'listOperatorLog',
  role: 'viewer',
  costly: true,
  summary: 'Changes by operators, the newest first.',
  description:
    'An entry is written before its change, and the outcome after it. The log also records reads of private parts of ' +
    'players in rooms; such an entry is written before anything is shown. A page searches 5,000 entries at most, so with a filter it ' +
    'may be short, or empty, and still ' +
    'have a `nextCursor`.',
  input: z.object({ limit: Limit, cursor: Cursor, ...logFilterFields }),
  reply: z.object({ entries: z.array(ShownLogEntry), nextCursor: z.string().optional() }),
  example: `curl -s "$base/v1/admin/log?action=accounts&from=2026-11-01T00:00:00Z" -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ entries, nextCursor }) => [table(logEntries, entries), ...more(nextCursor)],
  async prepare({ limit, cursor, ...filter }, services, { isGone }) {
    const parts = new Parts();
    const { entries, next } = await searchLog(filter, Number(cursor ?? 0), limitOf(limit), services, isGone ?? (() => false), parts);
    const { unreadable } = parts;
    return { reply: { entries: entries.map(shownLogEntry), ...(next === undefined ? {} : { nextCursor: String(next) }), unreadable } };
  },
});

/** The most entries in a part of the export. They take 150 KB. */
const MOST_EXPORTED = 500;

export const exportLog = operation({
  name: 'log export',
  method: 'GET',
  path: '/v1/admin/log/export',
  operationId: 'exportOperatorLog',
  role: 'viewer',
  costly: true,
  summary: 'Changes by operators as CSV, the newest first, in parts of up to 500.',
  description:
    '`nextCursor` leads to the next part; the first part has the line with the names of the columns. A text that a spreadsheet would run as ' +
    'a formula has an apostrophe in front.',
  input: z.object({ cursor: Cursor, ...logFilterFields }),
  reply: z.object({ csv: z.string(), entries: z.number().int(), nextCursor: z.string().optional() }),
  example: `curl -s "$base/v1/admin/log/export?operator=key:ab12cd34" -H "authorization: Bearer $COINOP_KEY"`,
  async prepare({ cursor, ...filter }, services, { isGone }) {
    const parts = new Parts();
    const { entries, next } = await searchLog(filter, Number(cursor ?? 0), MOST_EXPORTED, services, isGone ?? (() => false), parts);
    const csv = (cursor === undefined ? LOG_CSV_HEAD : '') + entries.map(logCsvLine).join('');
    const { unreadable } = parts;
    return { reply: { csv, entries: entries.length, ...(next === undefined ? {} : { nextCursor: String(next) }), unreadable } };
  },
});
