import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { opensAccount } from '../../accounts/prologues.ts';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { Encoded } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { PlayerName } from '../../accounts/player-name.ts';
import { SETTLING_MS } from './board-cache.ts';
import { boardKeys, boardLibrary, BoardParams, Score, Top, TOP_SIZE } from './model.ts';

export const submitScript = defineScript({
  file: new URL('submit.lua', import.meta.url),
  keys: ['scores', 'players', 'arrivals', 'version', 'secret', 'accountBoards'],
  args: ['game', 'order', 'known', 'accountId', 'name', 'score', 'newBoardBarred'],
  shared: ['publisher', 'seed', 'size', 'proofWanted'],
  answers: ['integrity_failed', 'game_not_found', 'done'],
  prologue: opensAccount,
  slotOf: 'scores',
  lists: { index: 'accountBoards', member: 'game' },
  library: boardLibrary,
});

type SubmitServices = Pick<Services, 'scripts' | 'config' | 'boards' | 'keySecret' | 'catalogue' | 'names'>;

export const submitScore = endpoint({
  method: 'POST',
  path: '/v1/highscores/{game}',
  operationId: 'submitScore',
  caller: 'required',
  keyScope: 'scores',
  summary: "Submits a score to a game's board, which keeps each account's best score.",
  description:
    "A score that is no better than the account's best changes neither that score nor its time; the board shows the name given last. " +
    'Repeating a submission is harmless. If REQUIRE_INSTALL_PROOF names `highscores`, accounts whose install was not proven genuine get ' +
    '403 `integrity_failed`; a server key needs no proof. A game whose catalogue entry has `scores: "server"` takes scores from servers ' +
    'only: without a server key 403 `server_only`. The first score of a board counts as a creation, and a personal best as a ledger entry. With BOARDS=catalogue, only games in the catalogue get a ' +
    'new board: for others 404 `game_not_found`. Existing boards stay.',
  params: BoardParams,
  body: z.object({ installId: OptionalInstallId, score: Score, name: PlayerName }),
  reply: z.object({
    rank: z.number().int().min(1).meta({ description: 'Rank of `best` among all players.' }),
    best: z.number().meta({ description: 'The best score that this account has submitted.', example: 1250 }),
    personalBest: z
      .boolean()
      .meta({ description: "Whether this score is the account's first on this board, or better than its best so far." }),
    top: Top,
  }),
  errors: ['integrity_failed', 'game_not_found', 'server_only'],
  // A first score stays for ever, as a ledger entry does.
  writesEntry: ({ isPersonalBest }: Submitted) => isPersonalBest,
  example: `curl -s $base/v1/highscores/pebble-drop -H 'content-type: application/json' -d '{"installId":"install-0001","score":1250,"name":"Ada"}'`,
  async handle({ caller, key: by, params: { game }, body: { score, name } }, services: SubmitServices) {
    const { scripts, config, boards, keySecret, catalogue, names } = services;
    if (by === undefined && catalogue.scoreAuthorityOf(game) === 'server') return refuse('server_only');
    names.check(name);
    keySecret.check();
    const order = catalogue.orderOf(game);
    const call = boards.call(game, order);
    const [word, listeners, personalBest, rank, best, ...top] = await scripts.runAs(
      caller,
      submitScript,
      {
        scores: boardKeys.scores(game),
        players: boardKeys.players(game),
        arrivals: boardKeys.arrivals(game),
        version: boardKeys.version(game),
        secret: boardKeys.secret(game),
        accountBoards: boardKeys.ofAccount(caller.accountId),
      },
      {
        game,
        publisher: boards.publisher,
        seed: boards.seed,
        order,
        size: TOP_SIZE,
        known: call.known,
        accountId: caller.accountId,
        name,
        // The shortest text that parses to the same double; minus zero becomes 0.
        score: String(score),
        proofWanted: by === undefined && config.REQUIRE_INSTALL_PROOF.includes('highscores') ? 1 : 0,
        newBoardBarred: config.BOARDS === 'catalogue' && !catalogue.hasGame(game) ? 1 : 0,
      },
    );
    if (word === 'integrity_failed') return refuse(word, { failed: ['install_proof'] });
    if (word === 'game_not_found') return refuse(word, { field: 'game' });
    const list = call.listOf(top);
    const key = boardKeys.scores(game);
    // Redis answers this process before it writes the published message to the other processes. Its next reply shows that
    // the message is written, so that a client that reads the board after this answer sees the score on every process.
    if (call.others(Number(listeners)) > 0) await scripts.barrier(key);
    const settlingMs = SETTLING_MS - scripts.servedMs(key);
    if (settlingMs > 0) await pause(settlingMs);
    // Put together as text, because the list is text already. `Number` gives the shortest text of a double.
    const isPersonalBest = personalBest === '1';
    const text = `{"ok":true,"rank":${rank},"best":${Number(best)},"personalBest":${isPersonalBest},"top":${list}}`;
    return new Submitted(text, isPersonalBest);
  },
});

class Submitted extends Encoded {
  readonly isPersonalBest: boolean;

  constructor(text: string, isPersonalBest: boolean) {
    super(text);
    this.isPersonalBest = isPersonalBest;
  }
}
