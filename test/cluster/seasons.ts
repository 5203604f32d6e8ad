import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { parseEntry } from '../../src/features/coins/ledger-layout.ts';
import { coinKeys, entryLetters } from '../../src/features/coins/model.ts';
import { entryIn, playerIdOf } from '../../src/features/highscores/entry.ts';
import { boardKeys, seasonKeys } from '../../src/features/highscores/model.ts';
import { runAuditCommand } from '../consistency/command.ts';
import { copyAhead } from './ahead.ts';
import { Client } from './client.ts';
import { reportAudit, type Stand } from './coins.ts';
import { openCluster, openSingle, type Dying } from './dying.ts';

/**
 * A day's season that ends under load. Players submit over 64 connections before and after its end, while processes and Redis are killed.
 * Then every acknowledged score has to be in exactly one season, and every prize of the final board in exactly one ledger entry.
 */
export interface SeasonScenario {
  readonly name: string;
  readonly about: string;
  readonly isOnCluster: boolean;
  /** Processes and Redis are killed within this many milliseconds around the end of the season. 0: no kills. */
  readonly killsMs: number;
  /** The number of players at a rate of 1,500. */
  readonly players: number;
}

export const seasonScenarios: readonly SeasonScenario[] = [
  {
    name: 'season-kill',
    about: 'a season ends while two workers and their Redis die again and again',
    isOnCluster: false,
    killsMs: 5000,
    players: 100_000,
  },
  {
    name: 'season-failover',
    about: 'the same on a Cluster whose primary of the board dies, with REDIS_WAIT_REPLICAS=1',
    isOnCluster: true,
    killsMs: 5000,
    players: 20_000,
  },
  {
    name: 'season-quiet',
    about: 'a season ends with nothing killed: how long the prizes take, and what credits beside them wait',
    isOnCluster: false,
    killsMs: 0,
    players: 100_000,
  },
];

const GAME = 'cups';
const DAY_MS = 86_400_000;
const CONNECTIONS = 64;
/** The expected submissions a second. They determine when the season has to end. */
const PLAYERS_A_SECOND = 1500;
/** The service is copied and started within this time. */
const STARTING_MS = 15_000;
const AFTER_MS = 5000;
const PAID_WITHIN_MS = 60_000;
const BETWEEN_KILLS_MS = 700;
const CREDITS_A_SECOND = 50;
const LAST_RETRY_MS = 30_000;

/** The last rank and the coins of each prize. In a small run the last prize is for everybody. */
const PRIZES = [
  { upTo: 1, coins: 500 },
  { upTo: 100, coins: 50 },
  { upTo: 100_000, coins: 3 },
];

interface Submission {
  readonly installId: string;
  readonly score: number;
  /** Undefined: no answer acknowledged it. */
  season?: string;
  /** An earlier try may have been applied. Then the score may be in the season of that try. */
  isRepeated?: boolean;
}

/** By how much the clocks are ahead, and when the season ends by them. */
interface Ahead {
  readonly aheadMs: number;
  readonly endAt: number;
}

/** The season ends with this day from today on, once the service has started and the players have had their time. */
function aheadOf(days: number, fillMs: number): Ahead {
  const endAt = Math.floor(Date.now() / DAY_MS) * DAY_MS + days * DAY_MS;
  return { endAt, aheadMs: endAt - fillMs - days * STARTING_MS - Date.now() };
}

export async function proveSeason(scenario: SeasonScenario, stand: Stand): Promise<void> {
  const { folder, rate, history, figures, closing } = stand;
  const players = Math.round((scenario.players * rate) / 1500);
  const fillMs = Math.max(10_000, (players / PLAYERS_A_SECOND) * 1000);
  const catalogue = join(folder, 'catalogue.json');
  const app = { id: GAME, kind: 'game', name: 'Cups', tagline: '', icon: '/i.png', url: '/g', status: 'live', platforms: [] };
  writeFileSync(catalogue, JSON.stringify([{ ...app, season: { period: 'daily', prizes: PRIZES }, updatedAt: '2026-11-22T12:00:00Z' }]));
  const settings = ({ aheadMs }: Ahead) => ({ CATALOGUE_FILE: catalogue, CLOCK_AHEAD_MS: String(aheadMs) });
  const program = copyAhead(join(folder, 'ahead'));
  let ahead = aheadOf(1, fillMs);
  const options = { program, settings: settings(ahead), hit: boardKeys.scores(GAME) };
  const running = await (scenario.isOnCluster ? openCluster : openSingle)(options, stand);
  // On a slow machine the season would end before the players have scored: then it is the season of a later day.
  for (let days = 2; Date.now() + ahead.aheadMs > ahead.endAt - fillMs; days++) {
    ahead = aheadOf(days, fillMs);
    await running.restart(settings(ahead));
  }
  const { endAt, aheadMs } = ahead;
  const clock = (): number => Date.now() + aheadMs;
  const season = new Date(endAt - DAY_MS).toISOString().slice(0, 10);
  const client = new Client(() => running.url());
  closing.push(() => client.close());

  const load = new SeasonLoad(client, players, () => clock() < endAt + AFTER_MS);
  const credits = new CreditTimes(client, () => clock());
  const sending = load.run();
  let isPaid = false;
  const crediting = credits.run(() => clock() < endAt + AFTER_MS || !isPaid);
  await pause(Math.max(0, endAt - clock() - scenario.killsMs));
  history.event(`the season ends in ${Math.round(endAt - clock())} ms, after ${load.submissions.length} submissions`);
  if (scenario.killsMs > 0) {
    const [redisBefore, redisAfter] = [pause(1000), pause(scenario.killsMs + 2000)];
    const killing = (async () => {
      while (clock() < endAt + scenario.killsMs) {
        await running.killProcess();
        await pause(BETWEEN_KILLS_MS);
      }
    })();
    await redisBefore.then(() => running.killRedis());
    if (!scenario.isOnCluster) await redisAfter.then(() => running.killRedis());
    await killing;
  }
  await sending;
  const stateOf = async (): Promise<string | null> =>
    (await running.command('HGET', seasonKeys.season(GAME, season), 'state').catch(() => null)) as string | null;
  while ((await stateOf()) !== 'paid' && clock() < endAt + PAID_WITHIN_MS + 60_000) await pause(200);
  const paidMs = clock() - endAt;
  isPaid = true;
  await crediting;
  figures.report('players', players);
  figures.report('submissions acknowledged', load.submissions.filter((each) => each.season !== undefined).length);
  figures.report('submissions never acknowledged', load.submissions.filter((each) => each.season === undefined).length);
  figures.report('… whose first try may have been done, sent again', load.submissions.filter(({ isRepeated }) => isRepeated).length);
  figures.atMost('all prizes are paid after the end, ms', paidMs, PAID_WITHIN_MS);
  if (scenario.killsMs === 0) credits.report(figures, { from: endAt, to: endAt + paidMs });
  await compare(season, load.submissions, running, figures);
  reportAudit(figures, await runAuditCommand(['--full-speed', '--list', '5'], running.settings));
}

/** Submits scores over 64 connections: first one score of each player, then scores of random players. No two scores are equal. */
class SeasonLoad {
  readonly submissions: Submission[] = [];
  readonly #client: Client;
  readonly #players: number;
  readonly #goesOn: () => boolean;
  readonly #prefix = `prove-${randomBytes(4).toString('hex')}`;

  constructor(client: Client, players: number, goesOn: () => boolean) {
    [this.#client, this.#players, this.#goesOn] = [client, players, goesOn];
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: CONNECTIONS }, () => this.#send()));
  }

  async #send(): Promise<void> {
    while (this.#goesOn()) {
      const number = this.submissions.length;
      const player = number < this.#players ? number : Math.floor(Math.random() * this.#players);
      // A random part, and a unique part.
      const score = Math.floor(Math.random() * 1_000_000) * 1_000_000 + number;
      const submission: Submission = { installId: `${this.#prefix}-${player}`, score };
      this.submissions.push(submission);
      for (const giveUpAt = Date.now() + LAST_RETRY_MS; submission.season === undefined && Date.now() < giveUpAt;) {
        const { status, body } = await this.#client.post(`/v1/highscores/${GAME}`, { installId: submission.installId, score, name: 'Ada' });
        if (status === 200) submission.season = body.season.id;
        else {
          submission.isRepeated ||= status !== 503 || body.error.outcome === 'unknown';
          await pause(100);
        }
      }
    }
  }
}

/** Credits beside the load, with their latencies. */
class CreditTimes {
  readonly #client: Client;
  readonly #clock: () => number;
  readonly #times: { readonly at: number; readonly ms: number }[] = [];

  constructor(client: Client, clock: () => number) {
    [this.#client, this.#clock] = [client, clock];
  }

  async run(goesOn: () => boolean): Promise<void> {
    const prefix = `beside-${randomBytes(4).toString('hex')}`;
    const sent: Promise<void>[] = [];
    for (let number = 0; goesOn(); number++) {
      sent.push(this.#credit(`${prefix}-${number % 100}`, `key-${number}`));
      await pause(1000 / CREDITS_A_SECOND);
    }
    await Promise.all(sent);
  }

  async #credit(installId: string, key: string): Promise<void> {
    const [at, startedAt] = [this.#clock(), performance.now()];
    const { status } = await this.#client.post('/v1/coins/credit', { installId, coins: 1, key });
    if (status === 200) this.#times.push({ at, ms: performance.now() - startedAt });
  }

  report(figures: Stand['figures'], { from, to }: { readonly from: number; readonly to: number }): void {
    const p99 = (isIn: (at: number) => boolean): number => {
      const times = this.#times.filter(({ at }) => isIn(at)).map(({ ms }) => ms);
      return times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.99)] ?? Number.NaN;
    };
    // Submissions continue on both sides for AFTER_MS, so only the prizes differ.
    const [before, during] = [
      p99((at) => at > from - AFTER_MS && at < from),
      p99((at) => at >= from && at < Math.min(to, from + AFTER_MS)),
    ];
    figures.report('p99 of credits before the end, ms', before);
    figures.report('p99 of credits while prizes are paid, ms', during, '<= 1.5 x', during <= 1.5 * before);
  }
}

/** Compares the final boards and the ledgers with the acknowledged scores. */
async function compare(season: string, submissions: readonly Submission[], running: Dying, figures: Stand['figures']): Promise<void> {
  const secret = (await running.command('GET', boardKeys.secret(GAME))) as string;
  const seasons = ((await running.command('ZRANGE', seasonKeys.seasons(GAME), 0, -1)) as string[]).toSorted();
  const boards = new Map<string, Map<string, number>>();
  for (const id of seasons) boards.set(id, await boardOf(seasonKeys.scores(GAME, id), running));
  const allTime = await boardOf(boardKeys.scores(GAME), running);
  let [missing, twice] = [0, 0];
  const ids = new Map<string, string>();
  const playerOf = (installId: string): string => {
    const id = ids.get(installId) ?? playerIdOf(secret, accountIdOf(installId));
    ids.set(installId, id);
    return id;
  };
  for (const { installId, score, season: acknowledged, isRepeated } of submissions) {
    const player = playerOf(installId);
    const [own, best] = [boards.get(acknowledged ?? '')?.get(player), allTime.get(player)];
    if (acknowledged !== undefined && ((own ?? -1) < score || (best ?? -1) < score)) missing++;
    if (acknowledged === undefined || isRepeated === true) continue;
    for (const [id, board] of boards) if (id !== acknowledged && board.get(player) === score) twice++;
  }
  figures.report('seasons', seasons.join(' '));
  figures.exactly('acknowledged scores that are on no board of their season', missing, 0);
  figures.exactly('acknowledged scores that are in another season', twice, 0);
  const final = boards.get(season)!;
  const expected = prizesOf([...final.values()]);
  let [wrong, paid, coins] = [0, 0, 0];
  for (const [installId, player] of ids) {
    const texts = (await running.command('LRANGE', coinKeys.ledger(accountIdOf(installId)), 0, -1)) as string[];
    const prizes = texts.map((text) => parseEntry(text)!).filter(({ letter }) => letter === entryLetters.prize);
    const wins = expected(final.get(player));
    const got = prizes.reduce((sum, entry) => sum + entry.coins, 0);
    if (prizes.length !== (wins > 0 ? 1 : 0) || got !== wins) wrong++;
    [paid, coins] = [paid + prizes.length, coins + got];
  }
  figures.report('prizes in ledgers', paid);
  figures.report('coins of prizes', coins);
  figures.exactly('accounts with another prize than the final board gives', wrong, 0);
}

async function boardOf(key: string, running: Dying): Promise<Map<string, number>> {
  const board = new Map<string, number>();
  for (let start = 0; ; start += 10_000) {
    // RESP3 has a pair for each entry, RESP2 a flat list.
    const words = ((await running.command('ZRANGE', key, start, start + 9_999, 'WITHSCORES')) as unknown[]).flat();
    for (let index = 0; index < words.length; index += 2) board.set(entryIn(words[index] as string).playerId, Number(words[index + 1]));
    if (words.length === 0) return board;
  }
}

/** The prize of a score, by the number of better scores. No two scores are equal. */
function prizesOf(scores: readonly number[]): (score: number | undefined) => number {
  const ranks = new Map(scores.toSorted((one, other) => other - one).map((score, index) => [score, index + 1]));
  return (score) => {
    const rank = score === undefined ? undefined : ranks.get(score);
    return rank === undefined ? 0 : (PRIZES.find(({ upTo }) => rank <= upTo)?.coins ?? 0);
  };
}
