import { z } from 'zod';
import { GameId } from '../features/catalogue/model.ts';
import { Parts } from '../redis/unreadable.ts';
import { operation } from './operation.ts';
import { readSeasons, SeasonRecord } from './season-records.ts';
import { seasonsOf } from './shown/shown-boards.ts';
import { table } from './shown/cells.ts';

export const listSeasons = operation({
  name: 'boards seasons',
  role: 'viewer',
  reach: 'game',
  method: 'GET',
  path: '/v1/admin/boards/{game}/seasons',
  operationId: 'listSeasons',
  summary: "A game's seasons with their rules and prizes, the latest first.",
  description: 'The rules of a season are those of the catalogue at its first score. A season without a score is not listed.',
  input: z.object({ game: GameId }),
  reply: z.object({ game: z.string(), seasons: z.array(SeasonRecord) }),
  example: `curl -s $base/v1/admin/boards/pebble-drop/seasons -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ game, seasons }) => [table(seasonsOf(game), seasons)],
  async prepare({ game }, services) {
    const parts = new Parts();
    const seasons = (await parts.read(`seasons of ${game}`, () => readSeasons(game, services, parts))) ?? [];
    return { reply: { game, seasons, unreadable: parts.unreadable } };
  },
});
