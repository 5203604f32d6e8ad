import type { Logger } from 'pino';
import { ban, BANS_DUE, unban, type BanOptions } from '../../accounts/ban.ts';
import type { Holding, HoldingServices } from '../../accounts/holdings.ts';
import { follow, LATE_MS, standingOf } from '../../accounts/standing-reader.ts';
import { IndependentSteps } from '../../journal/independent-steps.ts';
import { Journal } from '../../journal/journal.ts';
import type { DueQueue } from '../../redis/due-queue.ts';
import { within } from '../../redis/within.ts';

export interface BanJournalOptions extends HoldingServices {
  readonly holdings: readonly Holding[];
  readonly log: Logger;
}

/**
 * How long after the beginning or the end of a ban the queue takes over unfinished steps, in milliseconds. Most steps take some
 * milliseconds.
 */
const TAKE_OVER_MS = 10_000;

/**
 * The longest time for which an operator's call waits until all data is hidden or visible again, in milliseconds. The ban itself takes
 * effect before.
 */
const HIDE_MS = 5000;

/** How long a process may work on one account of the queue, in milliseconds. An account may have scores on thousands of boards. */
const LEASE_MS = 60_000;

/** How often a process polls the queue for bans that have ended, in milliseconds. On a Cluster a poll takes 65 commands. */
const POLL_INTERVAL_MS = 2000;

/**
 * Bans accounts and ends their bans. One script in the slot of the account writes or ends the ban. The data that other players see is in
 * other slots, so later steps hide this data, and make it visible again when the ban ends. If the process dies, the queue runs the steps.
 */
export class BanJournal {
  readonly #options: BanJournalOptions;
  readonly #journal: Journal;
  /**
   * How long after a ban a script may still write a score because it checked the account before the ban, in milliseconds. 0 on a single
   * Redis. On a Cluster the steps run once more after this time.
   */
  readonly #lateMs: number;

  constructor(options: BanJournalOptions) {
    this.#options = options;
    this.#lateMs = options.scripts.queueTags === 1 ? 0 : LATE_MS;
    this.#journal = new Journal({ ...options, name: BANS_DUE, takeOverMs: Math.max(TAKE_OVER_MS, this.#lateMs) });
  }

  /**
   * Bans the account as `ban` of `accounts/ban.ts` does, and hides its scores. When the promise resolves, the scores are hidden. If hiding
   * the scores takes longer than HIDE_MS, the promise resolves earlier.
   */
  ban(accountId: string, options: BanOptions): ReturnType<typeof ban> {
    return this.#decide(accountId, () => ban(accountId, options, this.#options));
  }

  /**
   * Ends the ban as `unban` of `accounts/ban.ts` does, and makes the account's scores visible again. The promise waits as long as that of
   * `ban`.
   */
  unban(accountId: string): ReturnType<typeof unban> {
    return this.#decide(accountId, () => unban(accountId, this.#options));
  }

  /**
   * Starts the queue. The queue finishes the steps of processes that died, and makes the scores of an account visible again when the
   * account's ban ends.
   */
  takeOver(): DueQueue {
    return this.#journal.takeOver((accountId) => this.work(accountId), LEASE_MS, this.#options.log, { pollIntervalMs: POLL_INTERVAL_MS });
  }

  /**
   * Hides the data that other players see of an account, if the account is banned. Otherwise makes the data visible again. If the account
   * moved, this acts on the account that it moved into. Two calls may run at the same time, and the ban may change meanwhile, so each call
   * checks the ban again after its last write.
   * @returns the end of the ban, in milliseconds since 1970; undefined: the ban has no end, or there is no ban
   */
  async work(accountId: string): Promise<number | undefined> {
    const { scripts, holdings } = this.#options;
    for (let done = ''; ;) {
      const { accountId: id, found } = await follow(
        accountId,
        scripts,
        (currentId) => standingOf(currentId, scripts),
        (found) => (found.word === 'moved' ? found : found.word === 'moving' ? 'moving' : undefined),
      );
      const isBanned = found.word === 'banned';
      const due = `${id} ${isBanned}`;
      // The work is done if the ban has not changed since the last steps. A deleted account needs no steps, because the deletion erases its
      // data.
      if (due === done || found.word === 'deleted') return isBanned ? found.ban.until : undefined;
      const steps = new IndependentSteps();
      for (const { hide } of holdings) if (hide !== undefined) await steps.at(hide({ accountId: id, isBanned }, this.#options));
      steps.end();
      done = due;
    }
  }

  async #decide<Decision extends { readonly accountId: string }>(accountId: string, decide: () => Promise<Decision>): Promise<Decision> {
    const { decision, done } = await this.#journal.begin(accountId, decide, async () => {
      const nextAt = await this.work(accountId);
      return this.#lateMs === 0 ? nextAt : Math.min(nextAt ?? Infinity, this.#options.now() + this.#lateMs);
    });
    await within(HIDE_MS, done, () => {});
    return decision;
  }
}
