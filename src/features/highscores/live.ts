import { z } from 'zod';
import { channel, type Services } from '../../declare.ts';
import { BoardParams, seasonField, Top } from './model.ts';

export const liveBoard = channel({
  path: '/v1/highscores/{game}/live',
  summary: "Sends a board's ten best scores, at once and after changes, at most twice a second.",
  description:
    'If changes come faster, watchers get only the latest list. `version` rises with each change. In a game with seasons the list is ' +
    'that of the current season, and a message comes at the end of each season.',
  params: BoardParams,
  sends: { board: z.object({ type: z.literal('board'), version: z.int(), top: Top, ...seasonField }) },
  receives: {},
  errors: [],
  notFound: 'not_found',
  subject: ({ params: { game } }) => game,
  feed: ({ feeds }: Pick<Services, 'feeds'>) => feeds.board,
});
