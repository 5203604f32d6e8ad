import type { Client } from './client.ts';
import type { Input } from './request.ts';
import type { CallOptions, Result } from './routes.ts';
import type { Watch } from './watch.ts';
import { watchList, type ListWatchOptions } from './watched-list.ts';
import type { Wire } from './wire.ts';

type List = Wire['GET /v1/rooms'];

/** An open room: public, in the lobby, with a free seat, not locked, and with somebody present. */
export type ListedRoom = List['reply']['rooms'][number];

/** Which open rooms. The default is all of them. */
export interface LobbyFilter {
  /** Only rooms of this game. */
  game?: string;
  /** Only rooms with all of these tags. */
  tags?: ListedRoom['tags'];
}

/** Which page of the open rooms. */
export interface ListFilter extends LobbyFilter {
  /** 1 to 100. The default is 20. */
  limit?: number;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
}

const LIST = 'GET /v1/rooms';

/** As many rooms as the live list has. */
const MOST_ROOMS = 50;

/** The parameters of the list, as HTTP and the channel take them. */
function queryOf({ tags, ...query }: LobbyFilter): Input {
  for (const tag in tags) (query as Input)[`tag.${tag}`] = tags[tag];
  return query;
}

/** Reads a page of the open rooms, newest first. It may be short, or empty, while its `nextCursor` says that there are more. */
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
  let path = '/v1/lobby/live?';
  for (const name in query) if (query[name] !== undefined) path += `${name}=${encodeURIComponent(query[name] as string)}&`;
  return watchList(
    client,
    path,
    'rooms',
    (signal) => client.parts.to(LIST, { ...query, limit: MOST_ROOMS }, {}, signal),
    onRooms,
    options,
    // The channel looks at more rooms.
    ({ rooms, nextCursor }) => nextCursor && (rooms as ListedRoom[]).length < MOST_ROOMS,
  );
}
