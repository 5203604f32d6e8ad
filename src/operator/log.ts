import { z } from 'zod';
import { operation } from './operation.ts';
import { readLog } from './operator-log.ts';
import { limitOf, Limit } from './page-limit.ts';

const Details = z.record(z.string(), z.union([z.string(), z.number()]));

const LogEntry = z
  .object({
    number: z.number().int().meta({ description: 'Rises by one with every entry.' }),
    at: z.iso.datetime(),
    by: z.string().meta({ description: '`user@host` or `<name> as user@host` of the tool, `key:<id>` of a server key.' }),
    action: z.string(),
    what: Details,
    why: z.string(),
    outcome: Details.optional().meta({
      description:
        '`word` is `done`; `refused` or `failed`, and nothing was changed; or `unknown`: Redis did not confirm the change. Left out: the ' +
        'process ended in the middle. In both cases look whether the change happened.',
    }),
  })
  .meta({
    id: 'OperatorLogEntry',
    example: {
      number: 17,
      at: '2026-11-22T12:00:00.000Z',
      by: 'ada@ops-1',
      action: 'accounts adjust',
      what: { account: 'BQ5v1mHk2nYtZ8cXw0aLpR', coins: 50, key: 'ticket-4711' },
      why: 'lost in the outage of 3 May',
      outcome: { word: 'done', balanceAfterCoins: 110 },
    },
  });

export const listLog = operation({
  name: 'log list',
  method: 'GET',
  path: '/v1/admin/log',
  operationId: 'listOperatorLog',
  role: 'viewer',
  summary: 'All changes of operators, the newest first.',
  description:
    'The log is written before a change, and its outcome after. Of looks it has those at what single players of a room see: such an entry ' +
    'is written before anything is shown.',
  input: z.object({
    limit: Limit,
    cursor: z
      .string()
      .regex(/^[1-9]\d{0,14}$/, 'Must be the nextCursor of an earlier page')
      .optional(),
  }),
  reply: z.object({ entries: z.array(LogEntry), nextCursor: z.string().optional() }),
  example: `curl -s $base/v1/admin/log -H "authorization: Bearer $COINOP_KEY"`,
  async prepare({ limit, cursor }, parts) {
    const entries = await readLog(Number(cursor ?? 0), limitOf(limit), parts);
    const shown = entries.map((entry) => ({ ...entry, at: new Date(entry.at).toISOString() }));
    const last = entries.at(-1)?.number ?? 1;
    return { reply: last > 1 ? { entries: shown, nextCursor: String(last) } : { entries: shown } };
  },
});
