import { z } from 'zod';
import type { HoldingServices } from '../../accounts/holdings.ts';
import type { Parts } from '../../redis/unreadable.ts';
import { GameId } from '../catalogue/model.ts';
import { readEntry } from './account-scores.ts';
import { aroundScript } from './around.ts';
import { ALL_TIME, BoardEntry, boardKeys, parseEntries } from './model.ts';

export const BestScore = BoardEntry.omit({ rank: true }).extend({
  game: GameId,
  rank: z.number().int().optional().meta({ description: 'Left out if the entry is hidden because the account is banned.', example: 3 }),
});

/**
 * For each of `games`, the account's best score on the game's board of all time. Includes entries that a ban hides.
 * @param parts notes damaged boards, which are left out
 */
export async function bestScores(
  accountId: string,
  games: readonly string[],
  services: HoldingServices,
  parts: Parts,
): Promise<z.output<typeof BestScore>[]> {
  return parts.readEach(
    games,
    (game) => `score on ${game}`,
    (game) => bestOn(game, accountId, services),
  );
}

async function bestOn(game: string, accountId: string, { scripts, catalogue }: HoldingServices) {
  const keys = { scores: boardKeys.scores(game), players: boardKeys.players(game), secret: boardKeys.secret(game) };
  const [word, ...figures] = await scripts.run(readEntry, keys, { accountId });
  if (word === 'none') return undefined;
  const { rank: _, ...entry } = parseEntries(figures)[0]!;
  const args = { order: catalogue.orderOf(game), period: '', season: ALL_TIME, limit: 0, accountId: '', playerId: entry.playerId };
  const [shown, _season, _seasonEnd, _place, _firstPlace, rank] = await scripts.runWithoutAccount(aroundScript, keys, args);
  return { game, ...entry, ...(shown === 'around' ? { rank: Number(rank) } : {}) };
}
