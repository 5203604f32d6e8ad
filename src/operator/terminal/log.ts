import { appendFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { Refusal } from '../../errors.ts';
import { Failure } from '../../process/command.ts';
import { exportLog } from '../log.ts';
import { logFilterFields } from '../log-filter.ts';
import { perform } from '../operation.ts';
import { entriesText } from '../shown/cells.ts';
import type { Command } from './command.ts';
import { flagsOf, valuesOf } from './operate.ts';

const filters = z.object(logFilterFields);

/** In place of the parts of `exportLog`. */
export const exportToFile: Command = {
  summary: exportLog.summary.replace(', in parts of up to 500', ', into a file'),
  role: exportLog.role,
  get flags() {
    return { file: { value: 'FILE', summary: 'The file.', isNeeded: true }, ...flagsOf({ input: filters }) };
  },
  plan({ flags }) {
    const path = flags['file'];
    if (path === undefined) throw new Failure('"log export" needs --file FILE.');
    const filter = valuesOf('log export', filters, flags, false);
    return async ({ services, operator, checkData, signal }) => {
      await checkData();
      writing(path, () => writeFileSync(path, ''));
      let entries = 0;
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
        signal.throwIfAborted();
        const part = await perform<z.output<typeof exportLog.reply>>(exportLog, { ...filter, cursor }, services, operator);
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
