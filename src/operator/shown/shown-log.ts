import type { z } from 'zod';
import type { ShownLogEntry } from '../log-entry.ts';
import { account, by, detailsOf, state, time, type Cell, type Listing } from './cells.ts';

export type LogEntry = z.output<typeof ShownLogEntry>;

/** The word is `not known` if the process died, or if Redis did not confirm the change. */
export function outcomeOf({ outcome }: LogEntry): string {
  const word = outcome?.['word'] ?? 'unknown';
  return word === 'unknown' ? 'not known' : String(word);
}

const ID = /^[\w-]{22}$/;

function objectOf({ what }: LogEntry): Cell {
  const { account: id, ...others } = what;
  return ID.test(String(id)) ? ['account=', account(id), ` ${detailsOf(others)}`] : detailsOf(what);
}

export const logEntries: Listing<LogEntry> = {
  title: 'Changes by operators',
  none: 'No such change.',
  columns: {
    No: ({ number }) => String(number),
    'At (UTC)': ({ at }) => time(at),
    By: (entry) => by(entry.by),
    Change: ({ action }) => action,
    Of: objectOf,
    Why: ({ why }) => why,
    Outcome(entry) {
      const { word: _, ...figures } = entry.outcome ?? {};
      return [state(outcomeOf(entry), outcomeOf(entry) === 'done'), ` ${detailsOf(figures)}`];
    },
  },
};
