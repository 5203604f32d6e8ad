import type { Client } from './client.ts';
import { guarded } from './guarded.ts';
import type { Input } from './request.ts';
import type { CallOptions, Result } from './routes.ts';
import type { Watch } from './watch.ts';
import type { WatchState } from './watched.ts';
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

/** Between two reads of the list where no WebSocket comes through. */
const POLL_MS = 4000;

/** The parameters of the list, as HTTP and the channel take them. */
function queryOf({ tags, ...query }: LobbyFilter): Input {
  for (const tag in tags) (query as Input)[`tag.${tag}`] = tags[tag];
  return query;
}

/** As `sleep`, in fewer bytes: nobody else listens by `onabort`. */
const pause = (signal: AbortSignal): Promise<unknown> =>
  new Promise<unknown>((done) => {
    const timer = setTimeout(done, POLL_MS);
    signal.onabort = () => done(clearTimeout(timer));
  });

/** Reads a page of the open rooms, newest first. It may be short, or empty, while its `nextCursor` says that there are more. */
export function listRooms(
  client: Client,
  filter: ListFilter = {},
  options: CallOptions = {},
): Promise<Result<List['reply'], List['code']>> {
  return client.parts.call(LIST, queryOf(filter), options, async () => ({})) as ReturnType<typeof listRooms>;
}

/** Calls `onRooms` with the newest 50 open rooms, at once and after changes, at most twice a second. */
export function watchLobby(
  client: Client,
  filter: LobbyFilter,
  onRooms: (rooms: ListedRoom[]) => void,
  options: { onState?: (state: WatchState) => void } = {},
): Watch {
  const { to, follow } = client.parts;
  const query = queryOf(filter);
  let path = '/v1/lobby/live?';
  for (const name in query) if (query[name] !== undefined) path += `${name}=${encodeURIComponent(query[name] as string)}&`;
  /** A list has no position of its own: each one that differs from the last takes the next. */
  let position = 0;
  let last = '';
  return follow(
    {
      path,
      async poll(wait, _, signal) {
        // The service does not wait for changes of the list.
        if (wait) await pause(signal);
        const before = position;
        const reply = await to(LIST, { ...query, limit: MOST_ROOMS }, {}, signal);
        const { rooms, nextCursor } = reply as unknown as Partial<List['reply']>;
        // A read while the socket is open shows whether the socket is silent for want of a connection. Two reads say nothing: an older one, where
        // the socket has brought news meanwhile, and a short page, where the channel looks at more rooms.
        const saysNothing = position > before || (!wait && before && nextCursor && rooms!.length < MOST_ROOMS);
        return saysNothing ? { ok: true } : reply;
      },
      positionOf: ({ rooms }) => (rooms ? position + +(JSON.stringify(rooms) !== last) : undefined),
      deliver({ rooms }) {
        last = JSON.stringify(rooms);
        position++;
        guarded(onRooms)(rooms as ListedRoom[]);
        return false;
      },
    },
    options.onState,
  );
}
