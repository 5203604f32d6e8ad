import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Refusal } from '../../errors.ts';
import { Failure } from '../../process/command.ts';
import { afterWrites, redisFailure } from '../../redis/script-runner.ts';
import { limitsOf, SHARES_AT_ONCE, withinLimits, type CountedCoins, type Share } from '../coin-limits.ts';
import { GRANT_GROUP } from '../grant-pace.ts';
import { countsOf } from '../grants.ts';
import { limitedBy, recorded, type Details } from '../operation.ts';
import { BulkRows, coinsOf, type BulkKind, type BulkResult, type BulkRow, type NamedAccount } from '../shown/bulk-rows.ts';
import { coinsText } from '../shown/cells.ts';
import type { Outcome, Tool } from './command.ts';
import { Progress } from './progress.ts';
import { facts } from './table.ts';

/** A change to the accounts of a file. */
export interface BulkJob {
  readonly kind: BulkKind;
  /** Coins for each account, if they are the same for all. */
  readonly coinsEach?: number;
  readonly key: string;
  readonly reason: string;
  /** The name of the file, for the log. */
  readonly file: string;
  /** The names of the columns of the file that are not read. */
  readonly unread: readonly string[];
  /** The path of the report. */
  readonly report: string;
  /** For the log, beside the file, the key and the figures. */
  readonly what: Details;
  readonly words: BulkWords;
  /** Changes nothing. */
  readonly preview: (accountIds: readonly string[], tool: Tool) => Promise<readonly BulkResult[]>;
  readonly act: (accountIds: readonly string[], tool: Tool) => Promise<readonly BulkResult[]>;
}

interface BulkWords {
  /** `Granted to`, in front of a number of accounts. */
  readonly doing: string;
  readonly plan: string;
  readonly moved: string;
  readonly before: string;
  /** Outcomes that the preview names, each with its words. */
  readonly named: Readonly<Partial<Record<BulkResult['outcome'], string>>>;
  readonly question: (accounts: number, coins: number) => string;
  /** What a repetition does, after it was stopped. */
  readonly again: string;
}

/** The most lines of each kind that the terminal lists. The report has all. */
const TOLD = 10;

/** Accounts that the preview reads at once. */
const CHECKED_AT_ONCE = 64;

/** Reads all accounts of a file, asks the operator, and changes the accounts in groups until it is done or stopped. */
export class BulkChange {
  readonly #rows: BulkRows;
  /** The rows whose accounts can be changed. */
  #planned: readonly BulkRow[] = [];
  readonly #job: BulkJob;
  readonly #tool: Tool;

  constructor(accounts: readonly NamedAccount[], job: BulkJob, tool: Tool) {
    this.#rows = new BulkRows(accounts, job.kind, job.coinsEach);
    this.#job = job;
    this.#tool = tool;
  }

  /** Reads every account without changing anything, and writes the report. @throws Failure if the report cannot be written */
  async check(): Promise<void> {
    const { all } = this.#rows;
    const progress = new Progress('Looked at', all.length);
    for (let from = 0; from < all.length; from += CHECKED_AT_ONCE) {
      this.#tool.signal.throwIfAborted();
      const group = all.slice(from, from + CHECKED_AT_ONCE);
      this.#rows.preview(group, await this.#job.preview(idsOf(group), this.#tool));
      progress.at(from + group.length);
    }
    this.#planned = this.#rows.of('waiting');
    this.#writeReport(this.#job.kind.waiting);
  }

  /** The output of a dry run. */
  previewed(): Outcome {
    const { report } = this.#job;
    return {
      text: `${this.#previewText()}\n\nNothing was changed. ${report} has every line.`,
      json: { ...this.#figures(), dryRun: true, report },
    };
  }

  async run(): Promise<Outcome> {
    const { kind, key, reason, file, report, words, what, coinsEach } = this.#job;
    const { operator, services, confirm } = this.#tool;
    const count = this.#planned.length;
    if (count === 0) return this.previewed();
    process.stderr.write(`${this.#previewText()}\n\n`);
    const coins = coinsOf(this.#planned);
    const limits = await limitsOf(this.#coins(), limitedBy(operator), services);
    if (limits.refusal !== undefined) throw new Failure(`${limits.refusal.message} Nothing was changed.`);
    const question = `${words.question(count, coins)} Key: ${key}. Reason: ${reason}.`;
    await confirm([...limits.sentences, question].join('\n'), count);
    const change = {
      action: kind.operation,
      by: operator.by,
      what: { file, accounts: count, coinsEach, coins, key, ...what },
      why: reason,
      noted: (isWhole: boolean) => ({ ...this.#noted(), ...(isWhole ? {} : { stopped: 'yes' }) }),
      act: () => withinLimits(this.#coins(), limitedBy(operator), services, () => afterWrites(this.#changeAll())),
    };
    const ended = await recorded(change, services).then(
      ({ reply }) => reply,
      (error: Error) => {
        if (redisFailure(error) === undefined) throw error;
        return error;
      },
    );
    this.#writeReport(kind.missed);
    if (ended instanceof Refusal) throw new Failure(`${ended.message} Nothing was changed (${ended.code}).`);
    if (ended === true) return { text: `${this.#outcomeText()}\n\n${report} has every line.`, json: { ...this.#figures(), report } };
    const why = ended instanceof Error ? `Redis failed in the middle: ${ended.message}.` : 'Stopped in the middle.';
    return {
      text: `${this.#outcomeText()}\n\n${why} Run the same command again: ${words.again}`,
      json: { ...this.#figures(), stopped: true, report },
      isUnfinished: true,
    };
  }

  /** The coins of all planned rows, for the bounds of the operator. */
  #coins(): CountedCoins<boolean> {
    const { kind, key, coinsEach } = this.#job;
    const sharesOf = (rows: readonly BulkRow[]) => rows.map(({ accountId, movedTo, coins }): Share => [movedTo ?? accountId, coins]);
    const { all } = this.#rows;
    const planned = new Set(this.#planned);
    // By the lines of the file: if the command is killed and run again, it counts nothing twice.
    const name = `${kind.operation} ${key} ${hash('sha256', JSON.stringify([coinsEach, idsOf(all)]), 'base64url')}`;
    const parts = Array.from({ length: Math.ceil(all.length / SHARES_AT_ONCE) }, (_, index) => ({
      name: `${name} ${index}`,
      shares: sharesOf(all.slice(index * SHARES_AT_ONCE, (index + 1) * SHARES_AT_ONCE).filter((row) => planned.has(row))),
    })).filter(({ shares }) => shares.length > 0);
    return {
      name,
      shares: parts.flatMap(({ shares }) => shares),
      parts,
      changed: () => sharesOf(this.#planned.filter(({ outcome }) => outcome === kind.done || outcome === 'replayed')),
    };
  }

  /** @returns false if it was stopped in the middle */
  async #changeAll(): Promise<boolean> {
    const { words, act } = this.#job;
    const { services, signal } = this.#tool;
    // The tool reads the secret only when a change needs it. So it may not be known yet.
    if (!services.keySecret.isKnown) await services.keySecret.read();
    const rows = this.#planned;
    const progress = new Progress(words.doing, rows.length);
    for (let from = 0; from < rows.length; from += GRANT_GROUP) {
      if (signal.aborted) return false;
      await services.grantPace.turn();
      const group = rows.slice(from, from + GRANT_GROUP);
      this.#rows.take(group, await act(idsOf(group), this.#tool));
      progress.at(from + group.length);
    }
    return true;
  }

  /** The counts of the outcomes, and the coins unless each account has the same. */
  #noted(): Details {
    const { kind, coinsEach } = this.#job;
    const counts = countsOf(this.#planned.filter(hasOutcome));
    return { ...(coinsEach === undefined ? { coins: coinsOf(this.#rows.of(kind.done)) } : {}), ...counts };
  }

  #previewText(): string {
    const { words, coinsEach, unread } = this.#job;
    const named = (rows: readonly BulkRow[]): string => {
      const more = rows.length > TOLD ? `, and ${rows.length - TOLD} more` : '';
      return rows.length === 0 ? '0' : `${rows.length}: ${rows.slice(0, TOLD).map(nameOf).join(', ')}${more}`;
    };
    const planned = this.#planned;
    const each = coinsEach === undefined ? ',' : ` × ${coinsEach} =`;
    return facts([
      ['lines', String(this.#rows.all.length)],
      ['columns that are not read', unread.join(', ')],
      [words.plan, `${accountsText(planned.length)}${each} ${coinsText(coinsOf(planned))}`],
      [words.moved, named(planned.filter(({ movedTo }) => movedTo !== undefined))],
      ...Object.entries(words.named).map(([outcome, text]) => [text, named(this.#rows.of(outcome as BulkResult['outcome']))] as const),
      ['named by an earlier line too', named(this.#rows.of('repeated'))],
    ]);
  }

  #outcomeText(): string {
    const { kind, words } = this.#job;
    const { [kind.done]: done = 0, replayed: _, ...others } = countsOf(this.#planned.filter(hasOutcome));
    const replayed = this.#rows.of('replayed').length;
    const refused = Object.entries(others).map(([outcome, count]) => `${count} ${outcome}`);
    const sum = coinsText(coinsOf(this.#rows.of(kind.done)));
    return `${[`${words.doing} ${accountsText(done)}, ${sum} in sum`, `${replayed} ${words.before}`, ...refused].join('; ')}.`;
  }

  #figures(): object {
    const { kind, coinsEach } = this.#job;
    const all = this.#rows.all;
    return {
      lines: all.length,
      repeated: this.#rows.of('repeated').length,
      moved: this.#planned.filter(({ movedTo }) => movedTo !== undefined).length,
      [kind.waiting === 'to_grant' ? 'toGrant' : 'toTake']: this.#planned.length,
      coinsEach,
      coins: coinsOf(this.#planned),
      outcomes: countsOf(all.filter(hasOutcome)),
    };
  }

  /** @param waiting the outcome to report for accounts that the change has not come to */
  #writeReport(waiting: string): void {
    const lines = this.#rows.report(waiting).map((cells) => `${cells.join(',')}\n`);
    try {
      writeFileSync(this.#job.report, lines.join(''));
    } catch (error) {
      throw new Failure(`The report cannot be written: ${(error as Error).message}.`);
    }
  }
}

const idsOf = (rows: readonly BulkRow[]): string[] => rows.map(({ accountId }) => accountId);

const hasOutcome = (row: BulkRow): row is BulkRow & Pick<BulkResult, 'outcome'> => row.outcome !== 'waiting' && row.outcome !== 'repeated';

function nameOf({ line, accountId }: BulkRow): string {
  return `${accountId} (line ${line})`;
}

const accountsText = (count: number): string => (count === 1 ? '1 account' : `${count} accounts`);
