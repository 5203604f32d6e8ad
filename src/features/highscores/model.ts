import { z } from 'zod';
import { defineScript } from '../../redis/script.ts';
import type { Scripts } from '../../redis/script-runner.ts';
import { GameId } from '../catalogue/model.ts';

/** Entries that a board shows. */
export const TOP_SIZE = 10;

const MAX_SCORE = Number.MAX_SAFE_INTEGER;
const SCORE_RULE = 'Must be a number from −(2^53−1) to 2^53−1';

export const Score = z
  .number(SCORE_RULE)
  .min(-MAX_SCORE, SCORE_RULE)
  .max(MAX_SCORE, SCORE_RULE)
  .meta({ description: 'Any double from −(2^53−1) to 2^53−1, kept exactly.' });

export const BoardParams = z.object({ game: GameId });

const TopEntry = z.object({
  rank: z.number().int().min(1),
  playerId: z.string().meta({ description: "The player on this board alone: random, and no account's or install's id." }),
  name: z.string(),
  score: z.number(),
  at: z.iso.datetime().meta({ description: 'When the score was submitted.' }),
});

export const Top = z
  .array(TopEntry)
  .max(TOP_SIZE)
  .meta({ description: 'The best ten, one entry a player. Equal scores share a rank (1, 2, 2, 4); the earlier is listed first.' });

export const boardKeys = {
  /** The board: a sorted set of entries (`submit.lua` says how they are written) by score. */
  scores: (game: string) => `{board:${game}}:scores`,
  /** A hash: each account's entry on the board. */
  players: (game: string) => `{board:${game}}:players`,
  /** How many scores the board ever took. */
  arrivals: (game: string) => `{board:${game}}:arrivals`,
  /** A set: the games on whose boards the account stands. */
  ofAccount: (accountId: string) => `{${accountId}}:boards`,
};

// Where an entry's parts begin: <place><at><player id><name>.
const AT = 12;
const PLAYER_ID = AT + 9;
const NAME = PLAYER_ID + 12;

/** Milliseconds since 1970 as an entry holds them: nine digits of base 36 last until the year 5188. */
export function atText(milliseconds: number): string {
  return milliseconds.toString(36).padStart(PLAYER_ID - AT, '0');
}

/** @param figures entry, score, entry, score, … best first */
export function parseTop(figures: readonly string[]): z.output<typeof Top> {
  const top: z.output<typeof Top> = [];
  for (let index = 0; index + 1 < figures.length; index += 2) {
    const entry = figures[index]!;
    const score = Number(figures[index + 1]);
    const above = top.at(-1);
    top.push({
      rank: above?.score === score ? above.rank : top.length + 1,
      playerId: entry.slice(PLAYER_ID, NAME),
      name: entry.slice(NAME),
      score,
      at: new Date(parseInt(entry.slice(AT, PLAYER_ID), 36)).toISOString(),
    });
  }
  return top;
}

export const boardsOf = defineScript({
  file: new URL('boards-of.lua', import.meta.url),
  keys: ['boards'],
  args: [],
  answers: ['boards'],
  readOnly: true,
});

export const moveEntry = defineScript({
  file: new URL('move-entry.lua', import.meta.url),
  keys: ['scores', 'players', 'guestBoards', 'accountBoards'],
  args: ['game', 'order', 'guestId', 'accountId'],
  answers: ['moved'],
});

/** Which games' lower scores are the better ones. */
export interface Orders {
  orderOf(game: string): 'asc' | 'desc';
}

/**
 * Hands a guest's entries over to the account that it moved into, board by board, each whole: of two on one board the
 * better stands. Done again it does nothing, so that one that broke off half-way is simply done again.
 */
export async function moveScores(
  guestId: string,
  accountId: string,
  { scripts, catalogue }: { scripts: Scripts; catalogue: Orders },
): Promise<void> {
  const guestBoards = boardKeys.ofAccount(guestId);
  const accountBoards = boardKeys.ofAccount(accountId);
  const [, ...games] = await scripts.run(boardsOf, { boards: guestBoards }, {});
  for (const game of games) {
    await scripts.run(
      moveEntry,
      { scores: boardKeys.scores(game), players: boardKeys.players(game), guestBoards, accountBoards },
      { game, order: catalogue.orderOf(game), guestId, accountId },
    );
  }
}
