import { basename, resolve } from 'node:path';
import { CoinKey, Coins } from '../../features/coins/model.ts';
import { Failure } from '../../process/command.ts';
import { grantMany } from '../grant-many.ts';
import { Reason } from '../operation.ts';
import { readAccountsFile } from './accounts-file.ts';
import { BulkGrant, type BulkTerms } from './bulk-grant.ts';
import type { Command, CommandInput } from './command.ts';

export const grant: Command = {
  summary: 'Grants coins to every account of a file, once per account and key.',
  role: grantMany.role,
  flags: {
    file: { value: 'FILE', summary: 'CSV with a column accountId or installId; without a header: accountIds', isNeeded: true },
    coins: { value: 'N', summary: 'coins for each account, 1 to 1,000,000', isNeeded: true },
    key: { value: 'KEY', summary: 'such as comp-2026-11: the same key takes effect once per account', isNeeded: true },
    report: { value: 'FILE', summary: 'the outcome of each line. Default: FILE.report.csv' },
    'dry-run': { summary: 'change nothing; show which accounts would get coins' },
    reason: { value: 'TEXT', summary: 'why, for other operators', isNeeded: true },
  },
  changes: true,
  readsWith: 'dry-run',
  plan({ flags }) {
    const terms = termsOf(flags);
    const path = flags['file'];
    if (path === undefined) throw new Failure('"coins grant" needs --file FILE.');
    const accounts = readAccountsFile(path);
    const report = flags['report'] ?? `${path}.report.csv`;
    if (resolve(report) === resolve(path)) throw new Failure('--report must not be the file of the accounts.');
    return async (tool) => {
      await tool.checkData();
      const bulk = new BulkGrant(accounts, { ...terms, file: basename(path), report }, tool);
      await bulk.check();
      return flags['dry-run'] === undefined ? bulk.run() : bulk.previewed();
    };
  },
};

function termsOf(flags: CommandInput['flags']): Pick<BulkTerms, 'coins' | 'key' | 'reason'> {
  const { coins = '', key, reason } = flags;
  const amount = Coins.safeParse(/^\d{1,9}$/.test(coins) ? Number(coins) : Number.NaN);
  if (!amount.success) throw new Failure(`"coins grant" needs --coins N. ${amount.error.issues[0]!.message}.`);
  const checkedKey = CoinKey.safeParse(key);
  if (!checkedKey.success) throw new Failure(`"coins grant" needs --key KEY. ${checkedKey.error.issues[0]!.message}.`);
  const checkedReason = Reason.safeParse(reason);
  if (!checkedReason.success) throw new Failure(`"coins grant" needs --reason TEXT. ${checkedReason.error.issues[0]!.message}.`);
  return { coins: amount.data, key: checkedKey.data, reason: checkedReason.data };
}
