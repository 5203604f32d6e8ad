import { z } from 'zod';
import { endpoint, type Services } from '../../../declare.ts';
import { Refusal } from '../../../errors.ts';
import { limitParameter } from '../../../server/http/endpoint.ts';
import { GameId } from '../../catalogue/model.ts';
import { AnsweredPage } from './first-pages.ts';
import { ALL_GAMES, ListCursor, ListedRoom, tagFilterOf, TagParameters } from './list-model.ts';
import { BYTES_A_ROOM, MOST_ROOMS_READ, MOST_PAGE_BYTES, readPage, type PageQuery } from './page.ts';

/** A page counts as one request if at most this many rooms are read for it. The number is enough for a page of a hundred rooms. */
const FREE_ROOMS_READ = 200;

/** A page counts as one request if it has at most this many bytes. The bytes are enough for a hundred rooms with ordinary tags. */
const FREE_PAGE_BYTES = 16 * 1024;

/** If a page needs more rooms or more bytes, it counts as this number of further requests. */
const WHOLE_PAGE_COST = 4;

/** The number of rooms of a page if the request names no limit. */
const PAGE_ROOMS = 20;

export const listRooms = endpoint({
  method: 'GET',
  path: '/v1/rooms',
  operationId: 'listRooms',
  caller: 'none',
  summary: 'The public rooms that can be joined, newest first.',
  description:
    'Shows public rooms in the lobby that have a free seat, are not locked, and in which somebody is present: a player with a welcomed ' +
    "channel or an act within 15 s; in a server's room the server, with its channel or an act within 60 s. When the last channel closes, " +
    'the room leaves the list within a second, unless a player without a channel has acted; within 15 s if the network is down or the ' +
    'process was killed. A query parameter ' +
    '`tag.NAME=TEXT` asks for rooms with this tag, at most 8 tags; numbers and booleans are compared as text.\n\n' +
    `A page reads ${MOST_ROOMS_READ} rooms at most, or at ${(BYTES_A_ROOM * MOST_ROOMS_READ) / 1000} KB of them, and has 32 KiB of rooms at most. So it may be short, or even empty, although ` +
    '`nextCursor` shows that there are more rooms. The list follows the rooms within one call to Redis, and within 15 s after the crash ' +
    'of a process.',
  query: z
    .object({
      game: GameId.optional().meta({ description: 'If given, only rooms of this game. Default: all rooms.' }),
      limit: limitParameter(100, `Rooms per page, 1 to 100. The default is ${PAGE_ROOMS}.`),
      cursor: ListCursor.optional(),
    })
    .catchall(TagParameters),
  reply: z.object({ rooms: z.array(ListedRoom), nextCursor: ListCursor.optional() }),
  errors: ['invalid_request'],
  example: `curl -s "$base/v1/rooms?game=pebble-drop&tag.mode=duel"`,
  async handle({ query, meta }, services: Pick<Services, 'scripts' | 'listWriter' | 'firstPages'>) {
    const { game = ALL_GAMES, limit = PAGE_ROOMS, cursor = '', ...others } = query;
    const filter = tagFilterOf(others);
    if (filter instanceof Refusal) return filter;
    const asked = { game, limit: Number(limit), from: cursor, needles: filter.needles };
    const found = await wholePage(asked, (requests) => meta.charge(requests), services);
    if (found.page.lapsed > 0) services.listWriter.sweep(game);
    return found.answer;
  },
});

/** Reads a page of a list. If the client's budget of requests does not allow the whole page, the client gets a short page. */
async function wholePage(
  asked: Omit<PageQuery, 'mostRooms'>,
  charge: (requests: number) => number,
  { scripts, firstPages }: Pick<Services, 'scripts' | 'firstPages'>,
): Promise<AnsweredPage> {
  const withoutCharge = { ...asked, mostRooms: FREE_ROOMS_READ, mostBytes: FREE_PAGE_BYTES };
  const begun = asked.from === '' ? await firstPages.read(withoutCharge) : new AnsweredPage(await readPage(withoutCharge, scripts));
  const firstPage = begun.page;
  const limit = asked.limit - firstPage.rooms.length;
  if (firstPage.next === '' || limit === 0 || charge(WHOLE_PAGE_COST) > 0) return begun;
  const mostBytes = MOST_PAGE_BYTES - firstPage.bytes;
  const more = await readPage({ ...asked, limit, from: firstPage.next, mostRooms: MOST_ROOMS_READ - FREE_ROOMS_READ, mostBytes }, scripts);
  return new AnsweredPage({ ...more, lapsed: firstPage.lapsed + more.lapsed, rooms: [...firstPage.rooms, ...more.rooms] });
}
