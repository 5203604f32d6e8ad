import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { opensAccount } from '../../accounts/prologues.ts';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { Encoded } from '../../server/http/endpoint.ts';
import { endpoint } from '../../declare.ts';
import { OptionalInstallId } from '../../accounts/ids.ts';
import { PlayerName } from '../../accounts/player-name.ts';
import { atText, boardKeys, BoardParams, parseTop, Score, Top, TOP_SIZE } from './model.ts';

export const submitScript = defineScript({
  file: new URL('submit.lua', import.meta.url),
  keys: ['scores', 'players', 'arrivals', 'accountBoards'],
  args: ['game', 'teller', 'order', 'size', 'accountId', 'playerId', 'name', 'score', 'at', 'proofWanted', 'newBoardBarred'],
  answers: ['integrity_failed', 'game_not_found', 'done'],
  prologue: opensAccount,
});

export const submitScore = endpoint({
  method: 'POST',
  path: '/v1/highscores/{game}',
  caller: 'required',
  summary: "Submits a score to a game's board, which keeps the best of each account.",
  description:
    'A score that is no better than the standing one changes neither it nor its time; the name given last is the one shown. ' +
    'Sending a submission again is harmless. Where REQUIRE_INSTALL_PROOF names `highscores`, only for accounts whose install was proven ' +
    'genuine: else 403 `integrity_failed`. The first score of a board counts as a creation. With BOARDS=catalogue only games of the ' +
    'catalogue get a board: for others 404 `game_not_found`; boards that are there already stay.',
  params: BoardParams,
  body: z.object({ installId: OptionalInstallId, score: Score, name: PlayerName }),
  reply: z.object({
    rank: z.number().int().min(1).meta({ description: 'Of the standing best among all players.' }),
    best: z.number().meta({ description: 'The standing best: the best score this account ever submitted.' }),
    personalBest: z.boolean().meta({ description: "Whether this score is the account's first here, or better than its best before." }),
    top: Top,
  }),
  errors: ['integrity_failed', 'game_not_found'],
  example: `curl -s $base/v1/highscores/pebble-drop -H 'content-type: application/json' -d '{"installId":"install-0001","score":1250,"name":"Ada"}'`,
  async handle({ caller, params: { game }, body: { score, name } }, { scripts, config, boards, catalogue, now }) {
    const submission = (): Promise<Standing> =>
      scripts
        .runAs(
          caller,
          submitScript,
          {
            scores: boardKeys.scores(game),
            players: boardKeys.players(game),
            arrivals: boardKeys.arrivals(game),
            accountBoards: boardKeys.ofAccount(caller.accountId),
          },
          {
            game,
            teller: boards.teller,
            order: catalogue.orderOf(game),
            size: TOP_SIZE,
            accountId: caller.accountId,
            // Drawn with each submission, used by a player's first.
            playerId: randomBytes(9).toString('base64url'),
            name,
            // The shortest text that reads back as the same double; minus zero's is 0.
            score: String(score),
            at: atText(now()),
            proofWanted: config.REQUIRE_INSTALL_PROOF.includes('highscores') ? 1 : 0,
            newBoardBarred: config.BOARDS === 'catalogue' && !catalogue.hasGame(game) ? 1 : 0,
          },
        )
        .then(([word, told, personalBest, rank, best, ...top]) => {
          if (word === 'integrity_failed') throw refuse(word, { failed: ['install_proof'] });
          if (word === 'game_not_found') throw refuse(word, { field: 'game' });
          return {
            told: Number(told),
            rank: Number(rank),
            best: Number(best),
            personalBest: personalBest === '1',
            top: parseTop(top),
          };
        });
    const { told, ...standing } = await boards.submit(game, submission, ({ top }) => Encoded.ok({ game, top }));
    // Redis answers this process before it writes to the others that listen. Once it answers again they have been told,
    // and whoever reads the board after this answer sees the score, whichever process they ask.
    if (told > 1) await scripts.barrier();
    return standing;
  },
});

interface Standing {
  /** How many processes, this one among them, were told that the board changed. */
  told: number;
  rank: number;
  best: number;
  personalBest: boolean;
  top: z.output<typeof Top>;
}
