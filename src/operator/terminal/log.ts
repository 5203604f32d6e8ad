import { appendFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { Refusal } from '../../errors.ts';
import { Failure } from '../../process/command.ts';
import { exportLog, listLog } from '../log.ts';
import { logFilterFields } from '../log-filter.ts';
import { perform } from '../operation.ts';
import { commandOf, flagsOf, groupOf, type NamedCommand } from './operate.ts';
import { entriesText, secondOfText, table } from './table.ts';

const filters = z.object(logFilterFields);

const toFile: NamedCommand = {
  name: exportLog.name,
  summary: exportLog.summary.replace(', in parts of up to 500', ', into a file'),
  role: exportLog.role,
  get flags() {
    return { file: { value: 'FILE', summary: 'The file. Needed.' }, ...flagsOf({ input: filters }) };
  },
  plan({ flags }) {
    const path = flags['file'];
    if (path === undefined) throw new Failure('"log export" needs --file FILE.');
    const { data, error } = filters.safeParse(flags);
    if (error !== undefined) throw new Failure(`${String(error.issues[0]!.path[0])}: ${error.issues[0]!.message}.`);
    return async ({ services, operator, checkData, signal }) => {
      await checkData();
      writing(path, () => writeFileSync(path, ''));
      let entries = 0;
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
        signal.throwIfAborted();
        const part = await perform<z.output<typeof exportLog.reply>>(exportLog, { ...data, cursor }, services, operator);
        if (part instanceof Refusal) throw new Failure(part.message);
        writing(path, () => appendFileSync(path, part.csv));
        entries += part.entries;
        cursor = part.nextCursor;
      }
      return { text: `${path} has ${entriesText(entries)}.`, json: { file: path, entries } };
    };
  },
};

function writing(path: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw new Failure(`${path} cannot be written: ${(error as Error).message}.`);
  }
}

export const log = groupOf(
  { name: 'log', summary: 'what operators changed, by this tool and by HTTP', usual: 'list' },
  commandOf(listLog, ({ entries, nextCursor }) => {
    const more = nextCursor === undefined ? '' : `\n\nMore: --cursor ${nextCursor}`;
    if (entries.length === 0) return nextCursor === undefined ? 'The log has no such entry.' : `Nothing so far.${more}`;
    const rows = entries.map(({ number, at, by, action, what, why, outcome }) => [
      String(number),
      secondOfText(at),
      by,
      action,
      detailsOf(what),
      why,
      outcome === undefined
        ? 'not known'
        : detailsOf(outcome).replace(/^word=(unknown)?/, (_, unknown) => (unknown === undefined ? '' : 'not known')),
    ]);
    return table(['NO', 'AT (UTC)', 'BY', 'CHANGE', 'OF', 'WHY', 'OUTCOME'], rows) + more;
  }),
  toFile,
);

/** A value with blanks is quoted, so that it does not look like further details. */
function detailsOf(details: Readonly<Record<string, string | number>>): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}=${/^[\w@:.-]+$/.test(String(value)) ? value : JSON.stringify(value)}`)
    .join(' ');
}
