import { z } from 'zod';
import { defineScript } from '../../redis/script.ts';
import type { Encoded } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';
import { boardKeys, BoardParams, Top, TOP_SIZE } from './model.ts';

export const topScript = defineScript({
  file: new URL('top.lua', import.meta.url),
  keys: ['scores', 'version'],
  args: ['order', 'size'],
  answers: ['top'],
  readOnly: true,
});

export const topScores = endpoint({
  method: 'GET',
  path: '/v1/highscores/{game}',
  operationId: 'getHighscores',
  caller: 'none',
  summary: "A game's ten best scores; an empty list for a game without scores.",
  description:
    'The list is at most 100 ms old, and holds every submission that was answered before the request. ' +
    'The higher score is the better one, unless the catalogue gives the game `order: "asc"`.',
  params: BoardParams,
  reply: z.object({ game: z.string().meta({ example: 'pebble-drop' }), top: Top }),
  example: `curl -s $base/v1/highscores/pebble-drop`,
  handle({ params: { game } }, services: TopServices) {
    const { boards } = services;
    const find = () => boards.find(game) ?? readTop(game, services);
    return boards.isAlone ? find() : boards.heard().then(find);
  },
});

type TopServices = Pick<Services, 'boards' | 'scripts' | 'catalogue'>;

function readTop(game: string, { boards, scripts, catalogue }: TopServices): Promise<Encoded> {
  const order = catalogue.orderOf(game);
  const keys = { scores: boardKeys.scores(game), version: boardKeys.version(game) };
  return boards.read(game, order, () => scripts.run(topScript, keys, { order, size: TOP_SIZE }));
}
