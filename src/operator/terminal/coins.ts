import { basename, resolve } from 'node:path';
import { z } from 'zod';
import { CoinKey, Coins } from '../../features/coins/model.ts';
import { Failure } from '../../process/command.ts';
import { grantMany } from '../grant-many.ts';
import { Reason } from '../operation.ts';
import { readAccountsFile } from './accounts-file.ts';
import { BulkGrant } from './bulk-grant.ts';
import type { Command } from './command.ts';
import { flagsOf, valuesOf } from './operate.ts';

const NAME = grantMany.name;

const terms = z.object({
  coins: Coins.meta({ description: 'Coins for each account, 1 to 1,000,000.' }),
  key: CoinKey.meta({ description: 'Such as comp-2026-11: the same key takes effect once per account.' }),
  reason: Reason,
});

/** In place of `grantMany`: for the accounts of a file, with a report. */
export const grant: Command = {
  summary: 'Grants coins to every account of a file, once per account and key.',
  role: grantMany.role,
  get flags() {
    return {
      file: { value: 'FILE', summary: 'CSV with a column accountId or installId; without a header: accountIds.', isNeeded: true },
      ...flagsOf({ input: terms }),
      report: { value: 'FILE', summary: 'The outcome of each line. Default: FILE.report.csv.' },
      'dry-run': { summary: 'Change nothing; show which accounts would get coins.' },
    };
  },
  changes: true,
  readsWith: 'dry-run',
  plan({ flags }) {
    const path = flags['file'];
    if (path === undefined) throw new Failure(`"${NAME}" needs --file FILE.`);
    const granted = valuesOf(NAME, terms, flags, true);
    const { accounts, unread } = readAccountsFile(path);
    const report = flags['report'] ?? `${path}.report.csv`;
    if (resolve(report) === resolve(path)) throw new Failure('--report must not be the file of the accounts.');
    return async (tool) => {
      await tool.checkData();
      const bulk = new BulkGrant(accounts, { ...granted, file: basename(path), unread, report }, tool);
      await bulk.check();
      return flags['dry-run'] === undefined ? bulk.run() : bulk.previewed();
    };
  },
};
