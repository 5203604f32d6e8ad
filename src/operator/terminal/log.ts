import { appendFileSync, writeFileSync } from 'node:fs';
import type { z } from 'zod';
import { Refusal } from '../../errors.ts';
import { Failure } from '../../process/command.ts';
import { exportLog, listLog } from '../log.ts';
import { logFilterFields } from '../log-filter.ts';
import { perform } from '../operation.ts';
import type { Command, CommandGroup, Flag } from './command.ts';
import { commandOf } from './operate.ts';
import { entriesText, secondOfText, table } from './table.ts';

const filters: Readonly<Record<keyof typeof logFilterFields, Flag>> = {
  account: { value: 'ID', summary: 'changes of this account, an accountId' },
  operator: { value: 'NAME', summary: 'changes by user@host, by the NAME of --by, or by key:ID' },
  action: { value: 'KIND', summary: 'changes of this kind, such as "accounts ban", or of a group, such as accounts' },
  from: { value: 'TIME', summary: 'not before it, such as 2026-11-22T12:00:00Z' },
  to: { value: 'TIME', summary: 'before it' },
};

/** The flags of a filter, for the fields of an operation's input. */
const filterOf = (flags: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.keys(filters).map((name) => [name, flags[name]]));

const toFile: Command = {
  summary: exportLog.summary.replace(', in parts of up to 500', ', into a file'),
  role: exportLog.role,
  flags: { file: { value: 'FILE', summary: 'the file. Needed' }, ...filters },
  plan({ flags }) {
    const path = flags['file'];
    if (path === undefined) throw new Failure('"log export" needs --file FILE.');
    const { data, error } = exportLog.input.safeParse(filterOf(flags));
    if (error !== undefined) throw new Failure(`${String(error.issues[0]!.path[0])}: ${error.issues[0]!.message}.`);
    return async ({ parts, operator, checkData, signal }) => {
      await checkData();
      writing(path, () => writeFileSync(path, ''));
      let entries = 0;
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
        signal.throwIfAborted();
        const part = await perform<z.output<typeof exportLog.reply>>(exportLog, { ...data, cursor }, parts, operator);
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

export const log: CommandGroup = {
  name: 'log',
  summary: 'what operators changed, by this tool and by HTTP',
  usual: 'list',
  commands: {
    list: commandOf(listLog, {
      flags: {
        ...filters,
        limit: { value: 'N', summary: 'entries, 1 to 100. Default: 50' },
        cursor: { value: 'CURSOR', summary: 'the nextCursor of a page: goes on after it' },
      },
      input: ({ flags }) => ({ limit: flags['limit'], cursor: flags['cursor'], ...filterOf(flags) }),
      text({ entries, nextCursor }) {
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
      },
    }),
    export: toFile,
  },
};

/** A value with blanks is quoted, so that it does not look like further details. */
function detailsOf(details: Readonly<Record<string, string | number>>): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}=${/^[\w@:.-]+$/.test(String(value)) ? value : JSON.stringify(value)}`)
    .join(' ');
}
