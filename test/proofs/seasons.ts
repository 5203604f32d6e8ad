import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { percentile } from '../../bench/measure/statistics.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { coinKeys, entryLetters } from '../../src/features/coins/model.ts';
import { entryIn, playerIdOf } from '../../src/features/highscores/entry.ts';
import { boardKeys, seasonKeys } from '../../src/features/highscores/model.ts';
import { Client, inParallel } from './client.ts';
import { ledgerOf } from './coin-book.ts';
import { now } from './history.ts';
import type { Place } from './place.ts';
import type { Stand } from './proof.ts';
import { coinsOf } from './purchase-book.ts';
import type { Load } from './scenario.ts';

const GAME = 'cups';
const DAY_MS = 86_400_000;
const CONNECTIONS = 64;
/** The expected submissions a second. They determine when the season has to end. */
const PLAYERS_A_SECOND = 1500;
/** The service is started again within this time. */
const STARTING_MS = 15_000;
const AFTER_MS = 5000;
/** Faults begin so long before the end of the season, and end so long after it. */
const FAULTS_MS = 5000;
const PAID_WITHIN_MS = 60_000;
const CREDITS_A_SECOND = 50;

/** The last rank and the coins of each prize. In a small run the last prize is for everybody. */
const PRIZES = [
  { upTo: 1, coins: 500 },
  { upTo: 100, coins: 50 },
  { upTo: 100_000, coins: 3 },
];

const app = { id: GAME, kind: 'game', name: 'Cups', tagline: '', icon: '/i.png', url: '/g', status: 'live', platforms: [] };
/** The catalogue of the scenarios. */
export const CUPS = [{ ...app, season: { period: 'daily', prizes: PRIZES }, updatedAt: '2026-11-22T12:00:00Z' }];

interface Submission {
  readonly installId: string;
  readonly score: number;
  /** Undefined: no answer acknowledged it. */
  season?: string;
  /** An earlier try may have been applied. Then the score may be in the season of that try. */
  isRepeated?: boolean;
}

/**
 * A day's season that ends under load. Players submit over 64 connections before and after its end. Then every acknowledged score has to be
 * in exactly one season, and every prize of the final board in exactly one ledger entry.
 */
export class Season implements Load {
  readonly keys = [boardKeys.scores(GAME)];
  readonly window: readonly [number, number];
  readonly #submissions: Submission[] = [];
  readonly #credits: { readonly at: number; readonly ms: number }[] = [];
  readonly #players: number;
  /** The end of the season on the clock of this process, and its id. */
  readonly #endAt: number;
  readonly #season: string;
  readonly #isQuiet: boolean;
  readonly #prefix = `prove-${randomBytes(4).toString('hex')}`;
  readonly #client: Client;
  readonly #stand: Stand;
  readonly #place: Place;
  #paidMs = Infinity;

  /** @param isQuiet without faults: the latencies of credits are compared */
  static async open(stand: Stand, place: Place, fullPlayers: number, isQuiet = false): Promise<Season> {
    const players = Math.ceil(fullPlayers * stand.size);
    const fillMs = Math.max(10_000, (players / PLAYERS_A_SECOND) * 1000);
    // On a slow machine the season would end before the players have scored: then it is the season of a later day.
    for (let days = 1; ; days++) {
      const endAt = Math.floor(now() / DAY_MS) * DAY_MS + days * DAY_MS;
      const aheadMs = Math.round(endAt - fillMs - days * STARTING_MS - now());
      await place.restart({ CLOCK_AHEAD_MS: String(aheadMs) });
      if (now() + aheadMs <= endAt - fillMs) return new Season(stand, place, { players, isQuiet, endAt, aheadMs });
    }
  }

  private constructor(
    stand: Stand,
    place: Place,
    { players, isQuiet, endAt, aheadMs }: { players: number; isQuiet: boolean; endAt: number; aheadMs: number },
  ) {
    [this.#stand, this.#place, this.#players, this.#isQuiet] = [stand, place, players, isQuiet];
    this.#client = new Client(() => place.url());
    stand.closing.push(() => this.#client.close());
    this.#season = new Date(endAt - DAY_MS).toISOString().slice(0, 10);
    this.#endAt = endAt - aheadMs;
    this.window = [this.#endAt - FAULTS_MS, this.#endAt + FAULTS_MS];
  }

  get done(): number {
    return this.#submissions.length;
  }

  async run(): Promise<void> {
    let isPaid = false;
    const crediting = this.#credit(() => now() < this.#endAt + AFTER_MS || !isPaid);
    await Promise.all(Array.from({ length: CONNECTIONS }, () => this.#submit()));
    const stateOf = (): Promise<unknown> => this.#place.command('HGET', seasonKeys.season(GAME, this.#season), 'state');
    while ((await stateOf()) !== 'paid' && now() < this.#endAt + 2 * PAID_WITHIN_MS) await pause(200);
    this.#paidMs = now() - this.#endAt;
    isPaid = true;
    await crediting;
  }

  /** Submits first one score of each player, then scores of random players. No two scores are equal. */
  async #submit(): Promise<void> {
    while (now() < this.#endAt + AFTER_MS) {
      const number = this.#submissions.length;
      const player = number < this.#players ? number : Math.floor(Math.random() * this.#players);
      // A random part, and a unique part.
      const score = Math.floor(Math.random() * 1_000_000) * 1_000_000 + number;
      const submission: Submission = { installId: `${this.#prefix}-${player}`, score };
      this.#submissions.push(submission);
      const body = { installId: submission.installId, score, name: 'Ada' };
      const answer = await this.#client.until(
        `/v1/highscores/${GAME}`,
        { body },
        {
          refused: (refusal) => (submission.isRepeated ||= refusal.status !== 503 || refusal.body.error.outcome === 'unknown'),
          giveUpMs: 30_000,
        },
      );
      if (answer !== undefined) submission.season = answer.body.season.id;
    }
  }

  /** Credits beside the load, with their latencies. */
  async #credit(goesOn: () => boolean): Promise<void> {
    const sent: Promise<void>[] = [];
    const credit = async (number: number): Promise<void> => {
      const at = now();
      const body = { installId: `beside-${this.#prefix}-${number % 100}`, coins: 1, key: `key-${number}` };
      if ((await this.#client.post('/v1/coins/credit', body)).status === 200) this.#credits.push({ at, ms: now() - at });
    };
    for (let number = 0; goesOn(); number++, await pause(1000 / CREDITS_A_SECOND)) sent.push(credit(number));
    await Promise.all(sent);
  }

  /** Compares the final boards and the ledgers with the acknowledged scores. */
  async compare(): Promise<Record<string, number>> {
    const { figures } = this.#stand;
    const acknowledged = this.#submissions.filter(({ season }) => season !== undefined);
    const repeated = this.#submissions.filter(({ isRepeated }) => isRepeated === true);
    figures.report('players', this.#players);
    figures.report(
      'submissions; acknowledged; sent again after they may have been done',
      `${this.done}; ${acknowledged.length}; ${repeated.length}`,
    );
    figures.time('all prizes are paid after the end, ms', this.#paidMs, PAID_WITHIN_MS);
    if (this.#isQuiet) this.#reportCredits();
    const secret = (await this.#place.command('GET', boardKeys.secret(GAME))) as string;
    const seasons = ((await this.#place.command('ZRANGE', seasonKeys.seasons(GAME), 0, -1)) as string[]).toSorted();
    const boards = new Map<string, ReadonlyMap<string, number>>();
    for (const id of seasons) boards.set(id, await this.#boardOf(seasonKeys.scores(GAME, id)));
    const allTime = await this.#boardOf(boardKeys.scores(GAME));
    const players = new Map(this.#submissions.map(({ installId }) => [installId, playerIdOf(secret, accountIdOf(installId))]));
    const isMissing = ({ installId, score, season }: Submission): boolean =>
      [boards.get(season!), allTime].some((board) => (board?.get(players.get(installId)!) ?? -1) < score);
    const isElsewhere = ({ installId, score, season, isRepeated }: Submission): boolean =>
      isRepeated !== true && seasons.some((id) => id !== season && boards.get(id)!.get(players.get(installId)!) === score);
    figures.report('seasons', seasons.join(' '));
    return {
      'seasons whose prizes are not paid': Number(this.#paidMs > 2 * PAID_WITHIN_MS),
      'acknowledged scores that are on no board of their season': acknowledged.filter(isMissing).length,
      'acknowledged scores that are in another season': acknowledged.filter(isElsewhere).length,
      'accounts with another prize than the final board gives': await this.#wrongPrizes(players, boards.get(this.#season)!),
    };
  }

  async #wrongPrizes(players: ReadonlyMap<string, string>, final: ReadonlyMap<string, number>): Promise<number> {
    const ranks = new Map([...final.values()].toSorted((one, other) => other - one).map((score, index) => [score, index + 1]));
    let [wrong, paid, coins] = [0, 0, 0];
    await inParallel(players, async ([installId, player]) => {
      const entries = await ledgerOf(coinKeys.ledger(accountIdOf(installId)), (...words) => this.#place.command(...words));
      const prizes = entries.filter(({ letter }) => letter === entryLetters.prize);
      const rank = ranks.get(final.get(player) ?? -1) ?? Infinity;
      const wins = PRIZES.find(({ upTo }) => rank <= upTo)?.coins ?? 0;
      if (prizes.length !== Math.sign(wins) || coinsOf(prizes) !== wins) wrong++;
      [paid, coins] = [paid + prizes.length, coins + coinsOf(prizes)];
    });
    this.#stand.figures.report('prizes in ledgers, and their coins', `${paid}; ${coins}`);
    return wrong;
  }

  #reportCredits(): void {
    const { figures } = this.#stand;
    const p99 = (from: number, to: number): number => {
      const times = this.#credits.filter(({ at }) => at > from && at < to).map(({ ms }) => ms);
      return percentile(
        times.toSorted((one, other) => one - other),
        0.99,
      );
    };
    // Submissions continue on both sides for AFTER_MS, so only the prizes differ.
    const before = p99(this.#endAt - AFTER_MS, this.#endAt);
    const during = p99(this.#endAt, this.#endAt + Math.min(this.#paidMs, AFTER_MS));
    figures.report('p99 of credits before the end, ms', before);
    figures.time('p99 of credits while prizes are paid, ms', during, 1.5 * before);
  }

  async #boardOf(key: string): Promise<ReadonlyMap<string, number>> {
    const board = new Map<string, number>();
    for (let start = 0; ; start += 10_000) {
      // RESP3 has a pair for each entry, RESP2 a flat list.
      const words = ((await this.#place.command('ZRANGE', key, start, start + 9_999, 'WITHSCORES')) as unknown[]).flat();
      for (let index = 0; index < words.length; index += 2) board.set(entryIn(words[index] as string).playerId, Number(words[index + 1]));
      if (words.length === 0) return board;
    }
  }
}
