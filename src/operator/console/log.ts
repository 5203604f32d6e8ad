import { listLog } from '../log.ts';
import type { CommandGroup } from './command.ts';
import { commandOf } from './operate.ts';
import { table } from './table.ts';

export const log: CommandGroup = {
  name: 'log',
  summary: 'what operators changed, by this tool and by HTTP',
  usual: 'list',
  commands: {
    list: commandOf(listLog, {
      flags: {
        limit: { value: 'N', summary: 'entries, 1 to 100. Default: 50' },
        cursor: { value: 'CURSOR', summary: 'goes on behind a page: its nextCursor' },
      },
      input: ({ flags }) => ({ limit: flags['limit'], cursor: flags['cursor'] }),
      text({ entries, nextCursor }) {
        if (entries.length === 0) return 'No operator has changed anything.';
        const rows = entries.map(({ number, at, by, action, what, why, outcome }) => [
          String(number),
          at.slice(0, 19).replace('T', ' '),
          by,
          action,
          detailsOf(what),
          why,
          outcome === undefined
            ? 'not known'
            : detailsOf(outcome).replace(/^word=(unknown)?/, (_, unknown) => (unknown === undefined ? '' : 'not known')),
        ]);
        return `${table(['NO', 'AT (UTC)', 'BY', 'CHANGE', 'OF', 'WHY', 'OUTCOME'], rows)}${nextCursor === undefined ? '' : `\n\nMore: --cursor ${nextCursor}`}`;
      },
    }),
  },
};

/** A value with blanks is quoted, so that it does not look like further details. */
function detailsOf(details: Readonly<Record<string, string | number>>): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}=${/^[\w@:.-]+$/.test(String(value)) ? value : JSON.stringify(value)}`)
    .join(' ');
}
