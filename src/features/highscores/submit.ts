import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { opensAccount } from '../../accounts/prologues.ts';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { Encoded } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import type { ScoreOrder } from '../catalogue/model.ts';
import { PlayerName } from '../../accounts/player-name.ts';
import { SETTLING_MS } from './board-cache.ts';
import { boardKeys, BoardParams, Score, seasonField, seasonLibraries, Top, TOP_SIZE } from './model.ts';

const submitWith = (durable: boolean) =>
  defineScript({
    file: new URL('submit.lua', import.meta.url),
    keys: ['scores', 'players', 'arrivals', 'version', 'secret', 'accountBoards'],
    args: ['game', 'order', 'known', 'accountId', 'name', 'score', 'newBoardBarred', 'opened'],
    shared: ['publisher', 'seed', 'size', 'proofWanted', 'period', 'rules'],
    answers: ['integrity_failed', 'game_not_found', 'season_unopened', 'done'],
    prologue: opensAccount,
    slotOf: 'scores',
    lists: { index: 'accountBoards', member: 'game' },
    library: seasonLibraries,
    durable,
  });

export const submitScript = submitWith(false);

/**
 * For games with seasons. With REDIS_WAIT_REPLICAS the answer waits until that number of replicas has the score, because the score may win
 * coins.
 */
export const submitOfSeason = submitWith(true);

/**
 * How many times a submission may find that its season is not in the queue. A submission finds this once if a season begins, and again if
 * Redis's clock is set at that time.
 */
const MOST_OPENINGS = 3;

type SubmitServices = Pick<Services, 'scripts' | 'config' | 'boards' | 'keySecret' | 'catalogue' | 'names' | 'seasons'>;

export const submitScore = endpoint({
  method: 'POST',
  path: '/v1/highscores/{game}',
  operationId: 'submitScore',
  caller: 'required',
  keyScope: 'scores',
  reach: 'game',
  summary: "Submits a score to a game's board, which keeps each account's best score.",
  description:
    "A score that is no better than the account's best changes neither that score nor its time; the board shows the name given last. " +
    'Repeating a submission is harmless. If REQUIRE_INSTALL_PROOF names `highscores`, accounts whose install was not proven genuine get ' +
    '403 `integrity_failed`; a server key needs no proof. A game whose catalogue entry has `scores: "server"` takes scores from servers ' +
    'only: without a server key 403 `server_only`. The first score of a board counts against ' +
    'the limit of creations (RATE_LIMIT_CREATIONS_PER_MINUTE), and a personal best against the limit of ledger entries (LEDGER_ENTRIES_PER_DAY). With BOARDS=catalogue, only games in the catalogue get a ' +
    'new board: for others 404 `game_not_found`. Existing boards stay. In a game with seasons the answer shows the current season; the ' +
    'board of all time gets the score too.',
  params: BoardParams,
  body: z.object({ installId: OptionalInstallId, score: Score, name: PlayerName }),
  reply: z.object({
    rank: z.number().int().min(1).meta({ description: 'Rank of `best` among all players.' }),
    best: z.number().meta({ description: 'The best score that this account has submitted.', example: 1250 }),
    personalBest: z
      .boolean()
      .meta({ description: "Whether this score is the account's first on this board, or better than its best so far." }),
    top: Top,
    ...seasonField,
  }),
  errors: ['integrity_failed', 'game_not_found', 'server_only'],
  // A personal best counts within the limit of ledger entries, because Redis keeps it forever, as it keeps a ledger entry.
  writesEntry: ({ isPersonalBest }: Submitted) => isPersonalBest,
  example: `curl -s $base/v1/highscores/pebble-drop -H 'content-type: application/json' -d '{"installId":"install-0001","score":1250,"name":"Ada"}'`,
  async handle({ caller, key: by, params: { game }, body: { score, name: sent } }, services: SubmitServices) {
    const { scripts, config, boards, keySecret, catalogue, names, seasons } = services;
    if (by === undefined && catalogue.scoreAuthorityOf(game) === 'server') return refuse('server_only');
    const name = names.shown(caller.accountId, sent);
    keySecret.check();
    const { order, period, rules } = rulesOf(game, catalogue);
    const script = period === '' ? submitScript : submitOfSeason;
    const call = boards.call(game, order, script.durable && config.REDIS_WAIT_REPLICAS > 0);
    const keys = {
      scores: boardKeys.scores(game),
      players: boardKeys.players(game),
      arrivals: boardKeys.arrivals(game),
      version: boardKeys.version(game),
      secret: boardKeys.secret(game),
      accountBoards: boardKeys.ofAccount(caller.accountId),
    };
    const args = {
      game,
      publisher: boards.publisher,
      seed: boards.seed,
      order,
      period,
      rules,
      size: TOP_SIZE,
      known: call.known,
      accountId: caller.accountId,
      name,
      // The shortest text that parses to the same double. Minus zero becomes 0.
      score: String(score),
      proofWanted: by === undefined && config.REQUIRE_INSTALL_PROOF.includes('highscores') ? 1 : 0,
      newBoardBarred: config.BOARDS === 'catalogue' && !catalogue.hasGame(game) ? 1 : 0,
      opened: '',
    };
    let answer = await scripts.runAs(caller, script, keys, args);
    for (let openings = 0; answer[0] === 'season_unopened' && openings < MOST_OPENINGS; openings++) {
      const [, opened = '', endsAt] = answer;
      await seasons.queue(game, opened, Number(endsAt));
      answer = await scripts.runAs(caller, script, keys, { ...args, opened });
    }
    const [word, listeners, personalBest, rank, best, ...list] = answer;
    if (word === 'integrity_failed') return refuse(word, { failed: ['install_proof'] });
    if (word === 'game_not_found') return refuse(word, { field: 'game' });
    if (word === 'season_unopened') throw new Error(`the current season of ${game} keeps changing: is Redis's clock being set?`);
    const { text: top, season } = call.listOf(list);
    // Redis answers this process before it writes the published message to the other processes. The next reply of Redis shows that the
    // message is written. So a client that reads the board after this answer sees the score, whichever process it asks.
    if (call.others(Number(listeners)) > 0) await scripts.barrier(keys.scores);
    const settlingMs = SETTLING_MS - scripts.servedMs(keys.scores);
    if (settlingMs > 0) await pause(settlingMs);
    // The answer is joined as text, because the list is already JSON text. `Number` makes the score the shortest text of its double.
    const isPersonalBest = personalBest === '1';
    const text = `{"ok":true,"rank":${rank},"best":${Number(best)},"personalBest":${isPersonalBest},"top":${top}${season}}`;
    return new Submitted(text, isPersonalBest);
  },
});

/** The catalogue's rules of a game, as arguments of `submit.lua`. */
function rulesOf(game: string, catalogue: Services['catalogue']): { order: ScoreOrder; period: string; rules: string } {
  const order = catalogue.orderOf(game);
  const seasons = catalogue.seasonsOf(game);
  if (seasons === undefined) return { order, period: '', rules: '' };
  return { order, period: seasons.period, rules: `${seasons.payAfterMs} ${seasons.keep} ${seasons.prizes}` };
}

class Submitted extends Encoded {
  readonly isPersonalBest: boolean;

  constructor(text: string, isPersonalBest: boolean) {
    super(text);
    this.isPersonalBest = isPersonalBest;
  }
}
