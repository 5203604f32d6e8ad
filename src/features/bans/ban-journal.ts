import type { Logger } from 'pino';
import { ban, BANS_DUE, unban, type BanOptions } from '../../accounts/ban.ts';
import type { Holding, HoldingParts } from '../../accounts/holdings.ts';
import { follow, LATE_MS, standingOf } from '../../accounts/standing-reader.ts';
import { Attempts } from '../../journal/attempts.ts';
import { Journal } from '../../journal/journal.ts';
import type { DueQueue } from '../../redis/due-queue.ts';
import { within } from '../../redis/within.ts';

export interface BanParts extends HoldingParts {
  readonly holdings: readonly Holding[];
  readonly log: Logger;
}

/** Work that is not done after this long is taken over by the queue. Most takes some milliseconds. */
const TAKE_OVER_MS = 10_000;

/** How long an operator waits until all is hidden or shown, in milliseconds. The ban counts before that. */
const HIDE_MS = 5000;

/** How long the work of the queue may take: an account may have an entry on thousands of boards. */
const LEASE_MS = 60_000;

/** How often a process looks for bans that have ended, in milliseconds: a look of a Cluster is 65 commands. */
const POLL_INTERVAL_MS = 2000;

/**
 * Bans accounts and ends their bans. One script decides, in the slot of the account. What others see of the account lies in other slots:
 * it is hidden behind that, and shown again when the ban ends, at once or at its time. The queue does so where a process dies.
 */
export class BanJournal {
  readonly #parts: BanParts;
  readonly #journal: Journal;
  /** On a Cluster a score that a process checked before the ban may arrive after it. */
  readonly #lateMs: number;

  constructor(parts: BanParts) {
    this.#parts = parts;
    this.#lateMs = parts.scripts.queueTags === 1 ? 0 : LATE_MS;
    this.#journal = new Journal({ ...parts, name: BANS_DUE, takeOverMs: Math.max(TAKE_OVER_MS, this.#lateMs) });
  }

  /** As `ban` of `accounts/ban.ts`. When this resolves, nobody sees the account's scores any more or, if that takes longer than HIDE_MS, soon after. */
  ban(accountId: string, options: BanOptions): ReturnType<typeof ban> {
    return this.#decide(accountId, () => ban(accountId, options, this.#parts));
  }

  /** As `unban` of `accounts/ban.ts`, with the scores as in `ban`. */
  unban(accountId: string): ReturnType<typeof unban> {
    return this.#decide(accountId, () => unban(accountId, this.#parts));
  }

  /** Hides and shows what processes left behind, and what belongs to accounts whose ban has come to its end. */
  takeOver(): DueQueue {
    return this.#journal.takeOver((accountId) => this.work(accountId), LEASE_MS, this.#parts.log, { pollIntervalMs: POLL_INTERVAL_MS });
  }

  /**
   * Hides what others see of the account, or of the one that it moved into, if it is banned, and shows it if it is not. Two calls may do so
   * at the same time, and the ban may change meanwhile: each call checks again behind its last write.
   * @returns when the ban ends; undefined: never, or there is none
   */
  async work(accountId: string): Promise<number | undefined> {
    const { scripts, holdings } = this.#parts;
    for (let done = ''; ;) {
      const { accountId: id, found } = await follow(
        accountId,
        scripts,
        (currentId) => standingOf(currentId, scripts),
        (found) => (found.word === 'moved' ? found : found.word === 'moving' ? 'moving' : undefined),
      );
      const isBanned = found.word === 'banned';
      const due = `${id} ${isBanned}`;
      // The deletion erases what the account has.
      if (due === done || found.word === 'deleted') return isBanned ? found.ban.until : undefined;
      const attempts = new Attempts();
      for (const { hide } of holdings) if (hide !== undefined) await attempts.at(hide({ accountId: id, isBanned }, this.#parts));
      attempts.end();
      done = due;
    }
  }

  async #decide<Decision extends { readonly accountId: string }>(accountId: string, decide: () => Promise<Decision>): Promise<Decision> {
    const { decision, done } = await this.#journal.begin(accountId, decide, async () => {
      const nextAt = await this.work(accountId);
      return this.#lateMs === 0 ? nextAt : Math.min(nextAt ?? Infinity, this.#parts.now() + this.#lateMs);
    });
    await within(HIDE_MS, done, () => {});
    return decision;
  }
}
