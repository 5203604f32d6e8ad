import { z } from 'zod';
import type { LogEntry } from './operator-log.ts';

const Details = z.record(z.string(), z.union([z.string(), z.number()]));

/** An entry of the operators' log, as operators see it. */
export const ShownLogEntry = z
  .object({
    number: z.number().int().meta({ description: 'Rises by one with every entry.' }),
    at: z.iso.datetime(),
    by: z.string().meta({
      description:
        '`user@host` or `<name> as user@host` of the tool, `key:<id>` of a server key, `person:<id>` of a sign-in to the console.',
    }),
    action: z.string(),
    what: Details,
    why: z.string(),
    outcome: Details.optional().meta({
      description:
        '`word` is `done`; `refused` or `failed`, and nothing was changed; or `unknown`: Redis did not confirm the change. Left out: the ' +
        'process ended in the middle. In both cases check whether the change happened.',
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

export function shownLogEntry(entry: LogEntry): z.input<typeof ShownLogEntry> {
  return { ...entry, at: new Date(entry.at).toISOString() };
}
