import { randomBytes } from 'node:crypto';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { coinKeys, entryLetters } from '../../src/features/coins/model.ts';
import { entryIn, playerIdOf } from '../../src/features/highscores/entry-format.ts';
import { boardKeys, seasonKeys } from '../../src/features/highscores/model.ts';
import { inParallel, times, type Answer } from './client.ts';
import { coinsOf, ledgerOf } from './credits.ts';
import { now, within } from './history.ts';
import type { Place } from './place.ts';
import type { Stand } from './proof.ts';
import { AtPlace, type Load } from './scenario.ts';

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
export class Season extends AtPlace implements Load {
  readonly keys = [boardKeys.scores(GAME)];
  readonly window: readonly [number, number];
  readonly #submissions: Submission[] = [];
  readonly #players: number;
  /** The end of the season on the clock of this process, and its id. */
  readonly #endAt: number;
  readonly #season: string;
  readonly #prefix = `prove-${randomBytes(4).toString('hex')}`;
  #paidMs = Infinity;

  static async open(stand: Stand, place: Place, fullPlayers: number): Promise<Season> {
    const players = Math.ceil(fullPlayers * stand.size);
    const fillMs = Math.max(10_000, (players / PLAYERS_A_SECOND) * 1000);
    // On a slow machine the season would end before the players have scored: then it is the season of a later day.
    for (let days = 1; ; days++) {
      const endAt = Math.floor(now() / DAY_MS) * DAY_MS + days * DAY_MS;
      const aheadMs = Math.round(endAt - fillMs - days * STARTING_MS - now());
      await place.restart({ CLOCK_AHEAD_MS: String(aheadMs) });
      if (now() + aheadMs <= endAt - fillMs) return new Season(stand, place, players, endAt, aheadMs);
    }
  }

  private constructor(stand: Stand, place: Place, players: number, endAt: number, aheadMs: number) {
    super(stand, place);
    this.#players = players;
    this.#season = new Date(endAt - DAY_MS).toISOString().slice(0, 10);
    this.#endAt = endAt - aheadMs;
    this.window = [this.#endAt - FAULTS_MS, this.#endAt + FAULTS_MS];
  }

  get done(): number {
    return this.#submissions.length;
  }

  async run(): Promise<void> {
    await Promise.all(times(CONNECTIONS, () => this.#submit()));
    const isPaid = async () => (await this.place.command('HGET', seasonKeys.season(GAME, this.#season), 'state')) === 'paid';
    await within(this.#endAt + 2 * PAID_WITHIN_MS - now(), isPaid, 200);
    this.#paidMs = now() - this.#endAt;
  }

  /** Submits first one score of each player, then scores of random players. No two scores are equal. */
  async #submit(): Promise<void> {
    while (now() < this.#endAt + AFTER_MS) {
      const number = this.#submissions.length;
      const player = number < this.#players ? number : Math.floor(Math.random() * this.#players);
      const score = Math.floor(Math.random() * 1_000_000) * 1_000_000 + number;
      const submission: Submission = { installId: `${this.#prefix}-${player}`, score };
      this.#submissions.push(submission);
      const body = { installId: submission.installId, score, name: 'Ada' };
      const refused = (refusal: Answer): unknown =>
        (submission.isRepeated ||= refusal.status !== 503 || refusal.body.error.outcome === 'unknown');
      const answer = await this.place.client.until(`/v1/highscores/${GAME}`, { body }, { refused, giveUpMs: 30_000 });
      if (answer !== undefined) submission.season = answer.body.season.id;
    }
  }

  /** Compares the final boards and the ledgers with the acknowledged scores. */
  async compare(): Promise<Record<string, number>> {
    const { figures } = this.stand;
    const acknowledged = this.#submissions.filter(({ season }) => season !== undefined);
    figures.report('players; acknowledged scores', `${this.#players}; ${acknowledged.length}`);
    figures.time('all prizes are paid after the end, ms', this.#paidMs, PAID_WITHIN_MS);
    const secret = (await this.place.command('GET', boardKeys.secret(GAME))) as string;
    const seasons = (await this.place.command('ZRANGE', seasonKeys.seasons(GAME), 0, -1)) as string[];
    const boards = new Map<string, ReadonlyMap<string, number>>();
    for (const id of seasons) boards.set(id, await this.#boardOf(seasonKeys.scores(GAME, id)));
    const allTime = await this.#boardOf(boardKeys.scores(GAME));
    const players = new Map(this.#submissions.map(({ installId }) => [installId, playerIdOf(secret, accountIdOf(installId))]));
    const isMissing = ({ installId, score, season }: Submission): boolean =>
      [boards.get(season!), allTime].some((board) => (board?.get(players.get(installId)!) ?? -1) < score);
    const isElsewhere = ({ installId, score, season, isRepeated }: Submission): boolean =>
      isRepeated !== true && seasons.some((id) => id !== season && boards.get(id)!.get(players.get(installId)!) === score);
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
      const entries = await ledgerOf(coinKeys.ledger(accountIdOf(installId)), this.place);
      const prizes = entries.filter(({ letter }) => letter === entryLetters.prize);
      const rank = ranks.get(final.get(player) ?? -1) ?? Infinity;
      const wins = PRIZES.find(({ upTo }) => rank <= upTo)?.coins ?? 0;
      if (prizes.length !== Math.sign(wins) || coinsOf(prizes) !== wins) wrong++;
      [paid, coins] = [paid + prizes.length, coins + coinsOf(prizes)];
    });
    this.stand.figures.report('prizes in ledgers, and their coins', `${paid}; ${coins}`);
    return wrong;
  }

  async #boardOf(key: string): Promise<ReadonlyMap<string, number>> {
    const board = new Map<string, number>();
    for (let start = 0; ; start += 10_000) {
      // RESP3 has a pair for each entry, RESP2 a flat list.
      const words = ((await this.place.command('ZRANGE', key, start, start + 9_999, 'WITHSCORES')) as unknown[]).flat();
      for (let index = 0; index < words.length; index += 2) board.set(entryIn(words[index] as string).playerId, Number(words[index + 1]));
      if (words.length === 0) return board;
    }
  }
}
