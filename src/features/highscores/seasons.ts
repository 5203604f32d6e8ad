import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Journal } from '../../journal/journal.ts';
import type { DueQueue } from '../../redis/due-queue.ts';
import { read } from '../../redis/reads.ts';
import { defineScript } from '../../redis/script.ts';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { seasonPayout } from '../coins/model.ts';
import { boardKeys, seasonKeys, seasonLibraries, seasonLibrary, SEASONS_DUE } from './model.ts';

export const closeSeason = defineScript({
  file: new URL('close-season.lua', import.meta.url),
  keys: ['scores'],
  args: ['season'],
  answers: ['none', 'early', 'paying', 'paid'],
  library: seasonLibraries,
  durable: true,
});

export const notePayouts = defineScript({
  file: new URL('note-payouts.lua', import.meta.url),
  keys: ['scores'],
  args: ['season', 'count'],
  answers: ['more', 'done'],
  library: seasonLibraries,
  durable: true,
});

export const settlePayouts = defineScript({
  file: new URL('settle-payouts.lua', import.meta.url),
  keys: ['season', 'payouts', 'unpaid'],
  args: ['outcomes'],
  answers: ['settled'],
  formats: [seasonPayout],
  durable: true,
});

export const dropSeasons = defineScript({
  file: new URL('drop-seasons.lua', import.meta.url),
  keys: ['scores', 'seasons'],
  answers: ['dropped'],
  library: seasonLibrary,
});

/** The most payouts that one call of `note-payouts.lua` records, which takes Redis about half a millisecond. */
const NOTED_AT_ONCE = 100;

/** The number of prizes that are booked together, in one Redis command that takes less than a millisecond. */
const PAID_AT_ONCE = 25;

/**
 * The word that `settle-payouts.lua` gets in place of an outcome if a prize could not be booked. The script puts the payout at the end of
 * the list, so that it does not block other payouts while the primary of its account is down.
 */
const LATER = 'later';

/**
 * How long a season waits if none of the prizes that were tried together could be booked, in milliseconds. Otherwise the queue would retry
 * at once.
 */
const LATER_MS = 5000;

/** How long a process works on one season before it works on other seasons, in milliseconds: well within LEASE_MS. */
const SLICE_MS = 5000;

/**
 * How long a process has the lease of one season, in milliseconds. If the process dies, another process continues after this time. The
 * lease is short enough that a season is paid within a minute.
 */
const LEASE_MS = 15_000;

export interface SeasonsOptions {
  readonly scripts: CallerScripts;
  /** Books coins: `Bookings` of the feature coins. */
  readonly bookings: {
    book(
      accountId: string,
      booking: { type: 'prize'; coins: number; key: readonly string[]; refusesBanned: boolean },
    ): Promise<{ readonly word: 'done' | 'replayed' | 'deleted' | 'banned' | 'balance_limit' }>;
  };
  readonly log: Logger;
  readonly now: () => number;
}

/** Closes seasons after their end, pays their prizes, and deletes the boards of old seasons. */
export class Seasons {
  readonly #options: SeasonsOptions;
  readonly #journal: Journal;

  constructor(options: SeasonsOptions) {
    this.#options = options;
    this.#journal = new Journal({ name: SEASONS_DUE, takeOverMs: LEASE_MS, ...options });
  }

  /**
   * Puts a season into the queue. To be called before the season gets its first score, so that its prizes are paid even if this process
   * dies.
   * @param dueAt when the queue checks the season for the first time, in milliseconds since 1970
   */
  queue(game: string, season: string, dueAt: number): Promise<void> {
    return this.#journal.bring(`${game} ${season}`, dueAt);
  }

  takeOver(): DueQueue {
    return this.#journal.takeOver((member) => this.work(member), LEASE_MS, this.#options.log);
  }

  /**
   * Closes a season, pays its prizes and deletes old seasons, as far as this is due.
   * @param member of the queue: `<game> <season>`
   * @returns when the season is due again, in milliseconds since 1970; undefined: never
   */
  async work(member: string): Promise<number | undefined> {
    const { scripts, now, log } = this.#options;
    const [game = '', season = ''] = member.split(' ');
    const [state, waitMs] = await scripts.run(closeSeason, { scores: boardKeys.scores(game) }, { season });
    if (state === 'none') return undefined;
    if (state === 'early') return now() + Number(waitMs);
    const againMs = state === 'paying' ? await this.#pay(game, season) : undefined;
    if (againMs !== undefined) return now() + againMs;
    const keys = { scores: boardKeys.scores(game), seasons: seasonKeys.seasons(game) };
    const [, ...dropped] = await scripts.run(dropSeasons, keys, {});
    log.info({ game, season, ...(dropped.length === 0 ? {} : { dropped }) }, 'a season ended');
    return undefined;
  }

  /**
   * Pays prizes of a closed season.
   * @returns after how many milliseconds the season is due again; undefined: every payout has its outcome
   */
  async #pay(game: string, season: string): Promise<number | undefined> {
    const { scripts } = this.#options;
    const endsAt = performance.now() + SLICE_MS;
    for (;;) {
      const begunAt = performance.now();
      const [word] = await scripts.run(notePayouts, { scores: boardKeys.scores(game) }, { season, count: NOTED_AT_ONCE });
      if (word === 'done') break;
      if (performance.now() > endsAt) return 0;
      await restAfter(begunAt);
    }
    const keys = { payouts: seasonKeys.payouts(game, season), unpaid: seasonKeys.unpaid(game, season) };
    for (;;) {
      const begunAt = performance.now();
      const playerIds = await read(scripts, 'LRANGE', keys.unpaid, 0, PAID_AT_ONCE - 1);
      if (playerIds.length === 0) return undefined;
      const payouts = await read(scripts, 'HMGET', keys.payouts, ...playerIds);
      const outcomes = await Promise.all(playerIds.map((playerId, index) => this.#payOne(game, season, playerId, payouts[index]!)));
      await scripts.run(settlePayouts, { season: seasonKeys.season(game, season), ...keys }, { outcomes: outcomes.join(',') });
      if (outcomes.every((outcome) => outcome.endsWith(` ${LATER}`))) return LATER_MS;
      if (performance.now() > endsAt) return 0;
      await restAfter(begunAt);
    }
  }

  /** Books one prize. @returns `<player id> <outcome>` for `settle-payouts.lua` */
  async #payOne(game: string, season: string, playerId: string, payout: string): Promise<string> {
    if (payout === '') return `${playerId} deleted`;
    const parsed = seasonPayout.parse(payout);
    if (parsed === undefined) {
      // The audit reports the damage. The prize stays unpaid until an operator repairs the payout, and nothing is lost.
      this.#options.log.error({ game, season, playerId, payout }, 'a prize cannot be read, and is not booked');
      return `${playerId} ${LATER}`;
    }
    const { accountId, coins, outcome } = parsed;
    if (outcome !== undefined || accountId === '-') return `${playerId} ${outcome ?? 'deleted'}`;
    const booked = this.#options.bookings.book(accountId, {
      type: 'prize',
      coins,
      // The booking's key has the player's id and not the account's id, because the account may also get payouts of guests that moved into
      // it.
      key: [game, season, playerId],
      refusesBanned: true,
    });
    return booked.then(
      ({ word }) => `${playerId} ${word === 'done' || word === 'replayed' ? 'paid' : word}`,
      (error: unknown) => {
        this.#options.log.debug(
          { reason: (error as Error).message, game, season, playerId },
          'a prize could not be booked: it is tried again',
        );
        return `${playerId} ${LATER}`;
      },
    );
  }
}

/** Waits as long as the work since `begunAt` took, so that Redis serves other clients for at least half of the time. */
function restAfter(begunAt: number): Promise<void> {
  return pause(performance.now() - begunAt);
}
