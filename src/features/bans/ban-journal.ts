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

/** How long after a ban or its end the queue takes over the unfinished steps, in milliseconds. Most steps take some milliseconds. */
const TAKE_OVER_MS = 10_000;

/** The longest time that an operator waits until all data is hidden or shown, in milliseconds. The ban itself takes effect before. */
const HIDE_MS = 5000;

/** How long a process may work on one account of the queue, in milliseconds. An account may have an entry on thousands of boards. */
const LEASE_MS = 60_000;

/** How often a process polls the queue for bans that have ended, in milliseconds. On a Cluster a poll takes 65 commands. */
const POLL_INTERVAL_MS = 2000;

/**
 * Bans accounts and ends their bans. One script in the slot of the account writes or ends the ban. The data that other players see lies in
 * other slots: later steps hide this data, and show it again when the ban ends. If the process dies, the queue runs the steps.
 */
export class BanJournal {
  readonly #options: BanJournalOptions;
  readonly #journal: Journal;
  /**
   * How long after a ban a score may still arrive whose account was checked before the ban, in milliseconds. 0 on a single Redis. On a
   * Cluster the steps run once more after this time.
   */
  readonly #lateMs: number;

  constructor(options: BanJournalOptions) {
    this.#options = options;
    this.#lateMs = options.scripts.queueTags === 1 ? 0 : LATE_MS;
    this.#journal = new Journal({ ...options, name: BANS_DUE, takeOverMs: Math.max(TAKE_OVER_MS, this.#lateMs) });
  }

  /**
   * As `ban` of `accounts/ban.ts`, and hides the account's scores. They are hidden when this resolves; if hiding takes longer than HIDE_MS,
   * soon after.
   */
  ban(accountId: string, options: BanOptions): ReturnType<typeof ban> {
    return this.#decide(accountId, () => ban(accountId, options, this.#options));
  }

  /** As `unban` of `accounts/ban.ts`, and shows the account's scores again, within the same time as `ban` hides them. */
  unban(accountId: string): ReturnType<typeof unban> {
    return this.#decide(accountId, () => unban(accountId, this.#options));
  }

  /** Starts the queue. It finishes what dead processes left undone, and shows the scores of an account again when its ban ends. */
  takeOver(): DueQueue {
    return this.#journal.takeOver((accountId) => this.work(accountId), LEASE_MS, this.#options.log, { pollIntervalMs: POLL_INTERVAL_MS });
  }

  /**
   * Hides the data that other players see of a banned account, or shows the data of an account without a ban. Acts on the account that a
   * moved account moved into. Two calls may run at the same time, and the ban may change meanwhile: each call checks the ban again after
   * its last write.
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
      // The work is done if the ban has not changed since the data was hidden or shown. A deleted account needs none: the deletion erases
      // its data.
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
