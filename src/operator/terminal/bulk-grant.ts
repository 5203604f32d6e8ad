import { writeFileSync } from 'node:fs';
import { Refusal } from '../../errors.ts';
import { Failure } from '../../process/command.ts';
import { afterWrites, redisFailure } from '../../redis/script-runner.ts';
import { GRANT_GROUP } from '../grant-pace.ts';
import { countsOf, grantGroup, previewGrants, type Granted } from '../grants.ts';
import { recorded } from '../operation.ts';
import { GrantRows, type GrantRow, type NamedAccount } from '../shown/grant-rows.ts';
import type { Outcome, Tool } from './command.ts';
import { Progress } from './progress.ts';
import { facts } from './table.ts';

export interface BulkTerms {
  /** Coins for each account. */
  readonly coins: number;
  readonly key: string;
  readonly reason: string;
  /** The name of the file, for the log. */
  readonly file: string;
  /** Names of the columns of the file that are not read. */
  readonly unread: readonly string[];
  /** The path of the report. */
  readonly report: string;
}

/** Most lines of each kind that the terminal names. The report has all. */
const TOLD = 10;

/** Accounts that the preview reads at once. */
const CHECKED_AT_ONCE = 64;

/** Grants to the accounts of a file: reads all accounts, asks the operator, and grants in groups until it is done or stopped. */
export class BulkGrant {
  readonly #rows: GrantRows;
  /** The rows whose accounts can get the coins. */
  #planned: readonly GrantRow[] = [];
  readonly #terms: BulkTerms;
  readonly #tool: Tool;

  constructor(accounts: readonly NamedAccount[], terms: BulkTerms, tool: Tool) {
    this.#rows = new GrantRows(accounts);
    this.#terms = terms;
    this.#tool = tool;
  }

  /** Reads every account, changes nothing, and writes the report. @throws Failure if the report cannot be written */
  async check(): Promise<void> {
    const { all } = this.#rows;
    const progress = new Progress('Looked at', all.length);
    for (let from = 0; from < all.length; from += CHECKED_AT_ONCE) {
      this.#tool.signal.throwIfAborted();
      const group = all.slice(from, from + CHECKED_AT_ONCE);
      const ids = group.map(({ accountId }) => accountId);
      this.#rows.preview(group, await previewGrants(ids, this.#tool.services));
      progress.at(from + group.length);
    }
    this.#planned = this.#rows.of('to_grant');
    this.#writeReport('to_grant');
  }

  /** The output of a dry run. */
  previewed(): Outcome {
    const { report } = this.#terms;
    return {
      text: `${this.#previewText()}\n\nNothing was changed. ${report} has every line.`,
      json: { ...this.#figures(), dryRun: true, report },
    };
  }

  async run(): Promise<Outcome> {
    const { coins, key, reason, file, report } = this.#terms;
    const { operator, services, confirm } = this.#tool;
    const count = this.#planned.length;
    if (count === 0) return this.previewed();
    process.stderr.write(`${this.#previewText()}\n\n`);
    await confirm(`Grant ${coins} coins to each of ${count} accounts, ${coins * count} in sum? Key: ${key}. Reason: ${reason}.`, count);
    const change = {
      action: 'coins grant',
      by: operator.by,
      what: { file, accounts: count, coinsEach: coins, coins: coins * count, key },
      why: reason,
      noted: (isWhole: boolean) => ({ ...this.#counts(), ...(isWhole ? {} : { stopped: 'yes' }) }),
      act: () => afterWrites(this.#grantAll()),
    };
    const ended = await recorded(change, services).then(
      ({ reply }) => reply,
      (error: Error) => {
        if (redisFailure(error) === undefined) throw error;
        return error;
      },
    );
    this.#writeReport('not_granted');
    if (ended instanceof Refusal) throw new Failure(`${ended.message} Nothing was changed (${ended.code}).`);
    if (ended === true) return { text: `${this.#outcomeText()}\n\n${report} has every line.`, json: { ...this.#figures(), report } };
    const why = ended instanceof Error ? `Redis failed in the middle: ${ended.message}.` : 'Stopped in the middle.';
    return {
      text: `${this.#outcomeText()}\n\n${why} Run the same command again: the others get their coins then, and nobody gets them twice.`,
      json: { ...this.#figures(), stopped: true, report },
      isUnfinished: true,
    };
  }

  /** @returns false if it was stopped in the middle */
  async #grantAll(): Promise<boolean> {
    const { coins, key, reason } = this.#terms;
    const { services, operator, signal } = this.#tool;
    // The tool reads the secret only when a change needs it, so it may not be known yet.
    if (!services.keySecret.isKnown) await services.keySecret.read();
    const rows = this.#planned;
    const progress = new Progress('Granted to', rows.length);
    for (let from = 0; from < rows.length; from += GRANT_GROUP) {
      if (signal.aborted) return false;
      await services.grantPace.turn();
      const group = rows.slice(from, from + GRANT_GROUP);
      const grants = group.map(({ accountId }) => ({ accountId, coins }));
      this.#rows.grant(group, await grantGroup(grants, { key, reason, by: operator.key ?? operator.by }, services));
      progress.at(from + group.length);
    }
    return true;
  }

  #counts(): ReturnType<typeof countsOf> {
    return countsOf(this.#planned.filter(isGranted));
  }

  #previewText(): string {
    const { coins } = this.#terms;
    const named = (rows: readonly GrantRow[]): string => {
      const more = rows.length > TOLD ? `, and ${rows.length - TOLD} more` : '';
      return rows.length === 0 ? '0' : `${rows.length}: ${rows.slice(0, TOLD).map(nameOf).join(', ')}${more}`;
    };
    const planned = this.#planned;
    return facts([
      ['lines', String(this.#rows.all.length)],
      ['columns that are not read', this.#terms.unread.join(', ')],
      ['to grant', `${planned.length} accounts × ${coins} = ${planned.length * coins} coins`],
      ['moved, so another account gets them', named(planned.filter(({ movedTo }) => movedTo !== undefined))],
      ['banned', named(this.#rows.of('banned'))],
      ['deleted', named(this.#rows.of('deleted'))],
      ['unknown', named(this.#rows.of('unknown'))],
      ['named by an earlier line too', named(this.#rows.of('repeated'))],
    ]);
  }

  #outcomeText(): string {
    const { granted = 0, replayed = 0, ...others } = this.#counts();
    const refused = Object.entries(others).map(([outcome, count]) => `${count} ${outcome}`);
    const sum = granted * this.#terms.coins;
    return [`Granted to ${granted} accounts, ${sum} coins in sum`, `${replayed} had them under this key`, ...refused].join('; ') + '.';
  }

  #figures(): object {
    const all = this.#rows.all;
    return {
      lines: all.length,
      repeated: this.#rows.of('repeated').length,
      moved: this.#planned.filter(({ movedTo }) => movedTo !== undefined).length,
      toGrant: this.#planned.length,
      coinsEach: this.#terms.coins,
      outcomes: countsOf(all.filter(isGranted)),
    };
  }

  /** @param waiting the outcome to report for accounts that can get coins but got none from this command */
  #writeReport(waiting: string): void {
    const lines = this.#rows.report(waiting).map((cells) => `${cells.join(',')}\n`);
    try {
      writeFileSync(this.#terms.report, lines.join(''));
    } catch (error) {
      throw new Failure(`The report cannot be written: ${(error as Error).message}.`);
    }
  }
}

const isGranted = (row: GrantRow): row is GrantRow & Pick<Granted, 'outcome'> => row.outcome !== 'to_grant' && row.outcome !== 'repeated';

function nameOf({ line, accountId }: GrantRow): string {
  return `${accountId} (line ${line})`;
}
