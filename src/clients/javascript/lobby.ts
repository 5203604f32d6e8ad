import type { Client } from './client.ts';
import type { Input } from './request.ts';
import type { CallOptions, Result } from './routes.ts';
import type { Watch } from './watch.ts';
import { watchList, type ListWatchOptions } from './watched-list.ts';
import type { Wire } from './wire.ts';

type List = Wire['GET /v1/rooms'];

/** An open room: public, in the lobby, with a free seat, not locked, and with somebody present. */
export type ListedRoom = List['reply']['rooms'][number];

/** Filters of the open rooms. The default is all open rooms. */
export interface LobbyFilter {
  /** Only rooms of this game. */
  game?: string;
  /** Only rooms with all of these tags. */
  tags?: ListedRoom['tags'];
}

/** Selects a page of the open rooms. */
export interface ListFilter extends LobbyFilter {
  /** The most rooms of a page, 1 to 100. The default is 20. */
  limit?: number;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
}

const LIST = 'GET /v1/rooms';

/** The number of rooms in the live list. */
const MOST_ROOMS = 50;

/** The query parameters of the filter, which are the same for HTTP and for the channel. */
function queryOf({ tags, ...query }: LobbyFilter): Input {
  for (const tag in tags) (query as Input)[`tag.${tag}`] = tags[tag];
  return query;
}

/** Reads a page of the open rooms, newest first. Even a short or empty page may have a `nextCursor`, which leads to more rooms. */
export function listRooms(
  client: Client,
  filter: ListFilter = {},
  options: CallOptions = {},
): Promise<Result<List['reply'], List['code']>> {
  return client.parts.call(LIST, queryOf(filter), options, async () => ({})) as ReturnType<typeof listRooms>;
}

/** Calls `onRooms` with the newest 50 open rooms, at once and after changes, at most twice a second. */
export function watchLobby(client: Client, filter: LobbyFilter, onRooms: (rooms: ListedRoom[]) => void, options?: ListWatchOptions): Watch {
  const query = queryOf(filter);
  let path = '/v1/lobby/live';
  for (const name in query)
    if (query[name] !== undefined) path += `${path.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(query[name] as string)}`;
  return watchList(
    client,
    path,
    'rooms',
    (signal) => client.parts.to(LIST, { ...query, limit: MOST_ROOMS }, {}, signal),
    onRooms,
    options,
    // Whether the channel may have more rooms than this reply: the channel searches more rooms than one read does.
    ({ rooms, nextCursor }) => nextCursor && (rooms as ListedRoom[]).length < MOST_ROOMS,
  );
}
