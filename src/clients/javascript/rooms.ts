import type { Act } from './act-queue.ts';
import type { Client } from './client.ts';
import { paceOfSeat } from './pace.ts';
import { playedRoom } from './played-room.ts';
import type { Game, PlayedRoom } from './room-types.ts';
import type { CallOptions, Result } from './routes.ts';
import type { Wire } from './wire.ts';

export { watchBoard, type ScoreEntry, type Season } from './boards.ts';
export { listRooms, watchLobby, type ListedRoom, type ListFilter, type LobbyFilter } from './lobby.ts';
export type * from './room-types.ts';

type Match = Wire['POST /v1/rooms/match'];

/**
 * The most milliseconds of a call of `quickMatch`: for this time the service gives the same caller the same seat. A later repetition could
 * take a second seat.
 */
const SAME_SEAT_MS = 10_000;

/**
 * Plays in a room that the client's player has joined. The page may be reloaded at any time: the new page finishes the acts of the
 * old one.
 */
export function playRoom<G extends Game = Game>(client: Client, code: string): PlayedRoom<G> {
  const { name, follow, to, identity, warn } = client.parts;
  const storage = pageStorage();
  const ofActs = `${name}:acts:${code}`;
  const last = keptSeats(name).find((kept) => kept.code === code);
  const { room, left } = playedRoom({
    code,
    to,
    credential: identity.credential,
    follow,
    pace: paceOfSeat(),
    kept: actsIn(storage.get(ofActs)),
    seat: last?.seat,
    onSeat: (seat) => keepSeat(name, code, seat),
    onWarning: warn,
  });
  storage.put(ofActs);
  const leave = (): void => {
    const acts = left();
    storage.put(ofActs, acts.length ? JSON.stringify(acts.map(({ done: _, ...act }) => act)) : undefined);
  };
  const platform = globalThis as unknown as EventTarget & { document?: unknown };
  if (platform.document) {
    platform.addEventListener('pagehide', leave);
    void room.ended.then(({ code: why }) => why === 'finished' || platform.removeEventListener('pagehide', leave));
  }
  return room as unknown as PlayedRoom<G>;
}

export interface QuickMatch<G extends Game = Game> {
  /** The room, as `playRoom` returns it. */
  room: PlayedRoom<G>;
  /** Whether the player opened the room, and is its first host. */
  created: boolean;
}

/**
 * Takes a seat in the oldest open room of the game with exactly these tags, or in a new room, and plays there. Even after an error the
 * player may have a seat: a call within 10 seconds gives the same seat.
 * @param wanted the `game`, the `tags`, and `maxPlayers` if the number matters. A new room also gets `minPlayers`, `state`, `writers`,
 * `startWhenFull` and `seatGraceSeconds`, as in `rooms.create`. `name` is the name of the player.
 * @param options `timeoutMs` is 10,000 at most
 */
export async function quickMatch<G extends Game = Game>(
  client: Client,
  wanted: Match['input'],
  options: CallOptions = {},
): Promise<Result<QuickMatch<G>, Match['code']>> {
  const { name, call, identity } = client.parts;
  const timeoutMs = Math.min(options.timeoutMs ?? SAME_SEAT_MS, SAME_SEAT_MS);
  const reply = await call('POST /v1/rooms/match', wanted, { ...options, timeoutMs }, identity.credential);
  if (!reply.ok) return reply as never;
  const { room, you, created } = reply as unknown as Match['reply'];
  keepSeat(name, room.code, `${room.createdAt} ${you.playerId}`);
  return { ok: true, room: playRoom<G>(client, room.code), created };
}

/**
 * The seat that this tab of the browser had before its page was reloaded; of several rooms that of the last one that the page entered. The
 * player may have lost the seat since.
 */
export function lastSeat(client: Client): { code: string; playerId: string } | undefined {
  return keptSeats(client.parts.name).pop();
}

interface KeptSeat {
  code: string;
  playerId: string;
  seat: string;
}

/** The most rooms of one page whose seats a reload finds. */
const MOST_SEATS = 8;

function keepSeat(name: string, code: string, seat?: string): void {
  const others = keptSeats(name).filter((kept) => kept.code !== code);
  const seats = seat ? [...others, { code, seat, playerId: seat.split(' ')[1]! }].slice(-MOST_SEATS) : others;
  pageStorage().put(`${name}:seat`, seats.length ? JSON.stringify(seats) : undefined);
}

/** The seats that the tab keeps, that of the last entered room at the end. */
function keptSeats(name: string): KeptSeat[] {
  try {
    return [JSON.parse(pageStorage().get(`${name}:seat`) ?? '[]') as KeptSeat[]].flat().filter((kept) => kept?.code);
  } catch {
    return [];
  }
}

function actsIn(text: string | null): Act[] {
  try {
    const acts = JSON.parse(text!) as Omit<Act, 'done'>[];
    return acts.filter(({ action, fields, tab, order }) => action && fields && tab && order > 0).map((act) => ({ ...act, done: [] }));
  } catch {
    return [];
  }
}

/**
 * Reads and writes the page's sessionStorage, which belongs to one tab and survives reloads. A browser may forbid it, and it may be full:
 * both are ignored.
 */
function pageStorage() {
  const safely = <T>(work: (storage: Storage) => T): T | null => {
    try {
      return work((globalThis as unknown as { sessionStorage: Storage }).sessionStorage);
    } catch {
      return null;
    }
  };
  return {
    get: (key: string): string | null => safely((storage) => storage.getItem(key)),
    put: (key: string, value?: string): void =>
      void safely((storage) => (value === undefined ? storage.removeItem(key) : storage.setItem(key, value))),
  };
}

interface Storage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}
