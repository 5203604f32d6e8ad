import { writeFileSync } from 'node:fs';
import { Refusal } from '../../errors.ts';
import { Failure } from '../../process/command.ts';
import { afterWrites, redisFailure } from '../../redis/script-runner.ts';
import { GRANT_GROUP } from '../grant-pace.ts';
import { countsOf, grantGroup, previewGrants, type Granted } from '../grants.ts';
import { recorded } from '../operation.ts';
import type { ListedAccount } from './accounts-file.ts';
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
  /** The path of the report. */
  readonly report: string;
}

/** Most lines of each kind that the terminal names. The report has all. */
const TOLD = 10;

/** Accounts that the preview reads at once. */
const CHECKED_AT_ONCE = 64;

/** A line of the file, and the state of its account. */
interface Row extends ListedAccount {
  preview: Granted | undefined;
  /** An earlier line that names the same account, directly or by a guest that moved into it. */
  repeats: number | undefined;
  granted: Granted | undefined;
}

/** Grants to the accounts of a file: reads all accounts, asks the operator, and grants in groups until it is done or stopped. */
export class BulkGrant {
  readonly #rows: readonly Row[];
  readonly #terms: BulkTerms;
  readonly #tool: Tool;

  constructor(accounts: readonly ListedAccount[], terms: BulkTerms, tool: Tool) {
    this.#rows = accounts.map((account) => ({ ...account, preview: undefined, repeats: undefined, granted: undefined }));
    this.#terms = terms;
    this.#tool = tool;
  }

  /** Reads every account, changes nothing, and writes the report. @throws Failure if the report cannot be written */
  async check(): Promise<void> {
    const lineOf = new Map<string, number>();
    const progress = new Progress('Looked at', this.#rows.length);
    for (let from = 0; from < this.#rows.length; from += CHECKED_AT_ONCE) {
      this.#tool.signal.throwIfAborted();
      const group = this.#rows.slice(from, from + CHECKED_AT_ONCE);
      const ids = group.map(({ accountId }) => accountId);
      const previews = await previewGrants(ids, this.#tool.services);
      for (const [index, row] of group.entries()) {
        row.preview = previews[index]!;
        const account = row.preview.movedTo ?? row.accountId;
        row.repeats = lineOf.get(account);
        if (row.repeats === undefined) lineOf.set(account, row.line);
      }
      progress.at(from + group.length);
    }
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
    const count = this.#toGrant().length;
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
    const rows = this.#toGrant();
    const progress = new Progress('Granted to', rows.length);
    for (let from = 0; from < rows.length; from += GRANT_GROUP) {
      if (signal.aborted) return false;
      await services.grantPace.turn();
      const group = rows.slice(from, from + GRANT_GROUP);
      const grants = group.map(({ accountId }) => ({ accountId, coins }));
      const results = await grantGroup(grants, { key, reason, by: operator.key ?? operator.by }, services);
      for (const [index, row] of group.entries()) row.granted = results[index]!;
      progress.at(from + group.length);
    }
    return true;
  }

  #toGrant(): Row[] {
    return this.#rows.filter(({ preview, repeats }) => preview?.outcome === 'granted' && repeats === undefined);
  }

  #counts(): ReturnType<typeof countsOf> {
    return countsOf(this.#rows.flatMap(({ granted }) => granted ?? []));
  }

  #previewText(): string {
    const { coins } = this.#terms;
    const named = (rows: readonly Row[]): string => {
      const more = rows.length > TOLD ? `, and ${rows.length - TOLD} more` : '';
      return rows.length === 0 ? '0' : `${rows.length}: ${rows.slice(0, TOLD).map(nameOf).join(', ')}${more}`;
    };
    const of = (outcome: string): Row[] =>
      this.#rows.filter(({ preview, repeats }) => preview?.outcome === outcome && repeats === undefined);
    const toGrant = this.#toGrant();
    return facts([
      ['lines', String(this.#rows.length)],
      ['to grant', `${toGrant.length} accounts × ${coins} = ${toGrant.length * coins} coins`],
      ['moved, so another account gets them', named(toGrant.filter(({ preview }) => preview?.movedTo !== undefined))],
      ['banned', named(of('banned'))],
      ['deleted', named(of('deleted'))],
      ['unknown', named(of('unknown'))],
      ['named by an earlier line too', named(this.#rows.filter(({ repeats }) => repeats !== undefined))],
    ]);
  }

  #outcomeText(): string {
    const { granted = 0, replayed = 0, ...others } = this.#counts();
    const refused = Object.entries(others).map(([outcome, count]) => `${count} ${outcome}`);
    const sum = granted * this.#terms.coins;
    return [`Granted to ${granted} accounts, ${sum} coins in sum`, `${replayed} had them under this key`, ...refused].join('; ') + '.';
  }

  #figures(): object {
    const previewed = this.#rows.filter(({ repeats }) => repeats === undefined);
    return {
      lines: this.#rows.length,
      repeated: this.#rows.length - previewed.length,
      moved: this.#toGrant().filter(({ preview }) => preview?.movedTo !== undefined).length,
      toGrant: this.#toGrant().length,
      coinsEach: this.#terms.coins,
      outcomes: { ...countsOf(previewed.flatMap(({ preview }) => (preview?.outcome === 'granted' ? [] : preview!))), ...this.#counts() },
    };
  }

  /** @param waiting the outcome to report for accounts that can get coins but got none from this command */
  #writeReport(waiting: string): void {
    const lines = this.#rows.map(({ line, accountId, preview, repeats, granted }) => {
      const { outcome, balanceAfterCoins = '', movedTo = '', code = '' } = granted ?? preview!;
      const shown = repeats !== undefined ? 'repeated' : granted === undefined && outcome === 'granted' ? waiting : outcome;
      return [line, accountId, shown, balanceAfterCoins, movedTo, repeats === undefined ? code : `line ${repeats}`].join(',');
    });
    try {
      writeFileSync(this.#terms.report, `line,accountId,outcome,balanceAfterCoins,movedTo,detail\n${lines.join('\n')}\n`);
    } catch (error) {
      throw new Failure(`The report cannot be written: ${(error as Error).message}.`);
    }
  }
}

function nameOf({ line, accountId }: Row): string {
  return `${accountId} (line ${line})`;
}
