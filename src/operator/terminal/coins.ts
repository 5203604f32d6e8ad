import { basename, resolve } from 'node:path';
import { z } from 'zod';
import { CoinKey, Coins } from '../../features/coins/model.ts';
import { Failure } from '../../process/command.ts';
import { grantMany } from '../grant-many.ts';
import { grantGroup, previewWithKey } from '../grants.ts';
import { Reason, type Operation } from '../operation.ts';
import { bulkGrant, bulkTakeBack } from '../shown/bulk-rows.ts';
import { coinsText } from '../shown/cells.ts';
import { INTO_DEBT, takeBack as takeBackMany } from '../take-back-grant.ts';
import { takeBackGroup } from '../take-backs.ts';
import { readAccountsFile } from './accounts-file.ts';
import { BulkChange, type BulkJob } from './bulk-change.ts';
import type { Command, Tool } from './command.ts';
import { flagsOf, valuesOf } from './operate.ts';

type Job = Omit<BulkJob, 'kind' | 'key' | 'reason' | 'file' | 'unread' | 'report'>;

/** A command for the accounts of a file, with a report, in place of an operation that takes up to 1,000. */
function bulkCommand<Shape extends z.ZodObject<{ key: typeof CoinKey; reason: typeof Reason }>>(
  kind: BulkJob['kind'],
  { role }: Pick<Operation, 'role'>,
  { summary, file, terms, job }: { summary: string; file: string; terms: Shape; job: (given: z.output<Shape>) => Job },
): Command {
  const name = kind.operation;
  return {
    summary,
    role,
    get flags() {
      return {
        file: { value: 'FILE', summary: file, isNeeded: true },
        ...flagsOf({ input: terms }),
        report: { value: 'FILE', summary: 'The outcome of each line. Default: FILE.report.csv.' },
        'dry-run': { summary: 'Change nothing; show what would happen.' },
      };
    },
    changes: true,
    readsWith: 'dry-run',
    plan({ flags }) {
      const path = flags['file'];
      if (path === undefined) throw new Failure(`"${name}" needs --file FILE.`);
      const given = valuesOf(name, terms, flags, true);
      const { accounts, unread } = readAccountsFile(path);
      const report = flags['report'] ?? `${path}.report.csv`;
      if (resolve(report) === resolve(path)) throw new Failure('--report must not be the file of the accounts.');
      const { key, reason } = given as { readonly key: string; readonly reason: string };
      return async (tool) => {
        await tool.checkData();
        const bulk = new BulkChange(accounts, { kind, key, reason, file: basename(path), unread, report, ...job(given) }, tool);
        await bulk.check();
        return flags['dry-run'] === undefined ? bulk.run() : bulk.previewed();
      };
    },
  };
}

const by = ({ operator }: Tool) => operator.key ?? operator.by;

const grantsOf = (ids: readonly string[], coins: number) => ids.map((accountId) => ({ accountId, coins }));

export const grant = bulkCommand(bulkGrant, grantMany, {
  summary: 'Grants coins to every account of a file, once for each account and key.',
  file: 'CSV with a column accountId or installId. Without a header: accountIds.',
  terms: z.object({
    coins: Coins.meta({ description: 'Coins for each account, 1 to 1,000,000.' }),
    key: CoinKey.meta({ description: 'Such as comp-2026-11. The same key takes effect only once for each account.' }),
    reason: Reason,
  }),
  job: ({ coins, key, reason }) => ({
    coinsEach: coins,
    what: {},
    words: {
      doing: 'Granted to',
      plan: 'to grant',
      moved: 'moved, so another account gets them',
      before: 'had them under this key',
      named: { replayed: 'have them under this key', banned: 'banned', deleted: 'deleted', unknown: 'unknown', refused: 'refused' },
      question: (accounts, sum) => `Grant ${coinsText(coins)} to each of ${accounts} accounts, ${sum} in sum?`,
      again: 'the others get their coins then, and nobody gets them twice.',
    },
    preview: (ids, { services }) => previewWithKey(grantsOf(ids, coins), key, services),
    act: (ids, tool) => grantGroup(grantsOf(ids, coins), { key, reason, by: by(tool) }, tool.services),
  }),
});

export const takeBack = bulkCommand(bulkTakeBack, takeBackMany, {
  summary: 'Takes a grant back from every account of a file, such as the report of the grant, once.',
  file: 'The report of the grant, or another CSV as for "coins grant". The ledgers say who was granted how much.',
  terms: z.object({
    key: CoinKey.meta({ description: 'The key of the grant.' }),
    intoDebt: z.enum(['true', 'false']).default('false').meta({ description: INTO_DEBT }),
    reason: Reason,
  }),
  job({ key, intoDebt: given, reason }) {
    const intoDebt = given === 'true';
    const terms = (tool: Tool) => ({ key, intoDebt, reason, by: by(tool) });
    return {
      what: { intoDebt: intoDebt ? 'yes' : undefined },
      words: {
        doing: 'Taken back from',
        plan: 'to take back',
        moved: 'moved, so another account gives them back',
        before: 'gave them back before',
        named: { replayed: 'gave them back before', deleted: 'deleted', no_grant: 'no grant under this key' },
        question: (accounts, coins) =>
          `Take the grant back from ${accounts} accounts, ${coinsText(coins)} in sum, ${intoDebt ? 'into debt where it is spent' : 'down to what each still has of it'}?`,
        again: 'the others give their coins back then, and nobody gives them back twice.',
      },
      preview: (ids, tool) => takeBackGroup(ids, terms(tool), tool.services, true),
      act: (ids, tool) => takeBackGroup(ids, terms(tool), tool.services),
    };
  },
});
