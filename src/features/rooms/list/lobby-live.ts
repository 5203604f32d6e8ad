import { z } from 'zod';
import { channel, type Services } from '../../../declare.ts';
import { Refusal } from '../../../errors.ts';
import { GameId } from '../../catalogue/model.ts';
import { ALL_GAMES, ListedRoom, tagFilterOf, TagParameters } from './list-model.ts';
import { LIVE_ROOMS, lobbyIdOf } from './lobby-feed.ts';
import { BYTES_A_ROOM, MOST_ROOMS_READ } from './page.ts';

const READ_KB = (BYTES_A_ROOM * MOST_ROOMS_READ) / 1000;

export const liveLobby = channel({
  path: '/v1/lobby/live',
  summary: 'Sends the public rooms that can be joined, at once and after changes, at most twice a second.',
  description: [
    `Every \`rooms\` message is the whole list: the newest ${LIVE_ROOMS} rooms of \`GET /v1/rooms\` with the same \`game\` and tags. With tags the service searches`,
    `the newest ${MOST_ROOMS_READ} rooms, or ${READ_KB} KB of them; a message has 32 KiB of rooms at most. A room leaves the list when nobody is`,
    'present any more, as `GET /v1/rooms` says.',
  ].join(' '),
  query: z
    .object({ game: GameId.optional().meta({ description: 'If given, only rooms of this game. Default: all rooms.' }) })
    .catchall(TagParameters),
  sends: { rooms: z.object({ type: z.literal('rooms'), rooms: z.array(ListedRoom) }) },
  receives: {},
  errors: [],
  notFound: 'not_found',
  subject({ query: { game = ALL_GAMES, ...others } }) {
    const filter = tagFilterOf(others);
    return filter instanceof Refusal ? filter : lobbyIdOf(game, filter);
  },
  feed: ({ feeds }: Pick<Services, 'feeds'>) => feeds.lobby,
});
