import type { z } from 'zod';
import type { Player } from '../../features/rooms/model.ts';
import type { ListedRoom, RoomSeat, ShownRoom } from '../room-facts.ts';
import type { Row } from '../room-row.ts';
import { account, code, given, joined, link, name, state, time, yesNo, type Cell, type Facts, type Listing } from './cells.ts';

type Room = z.output<typeof ShownRoom>;
type Seat = z.output<typeof RoomSeat>;
type ShownPlayer = z.output<typeof Player>;

/** All rooms. */
export const roomRows: Listing<Row> = {
  title: 'Rooms',
  none: 'No such room.',
  columns: {
    Code: (row) => link(row.code, ['rooms', row.code]),
    Game: ({ game }) => game,
    Phase: ({ phase, problem }) => (phase === undefined ? problem : phaseOf(phase)),
    Seats: ({ players, maxPlayers }) => given(players, (taken) => `${taken} of ${maxPlayers}`),
    Here: ({ present, server }) => joined([present, given(server, (where) => (where === 'present' ? 'server' : 'server away'))]),
    Access: (row) => given(row.private, (isPrivate) => accessOf(isPrivate, row.locked === true)),
    'Changed (UTC)': ({ updatedAt }) => time(updatedAt),
    'Made (UTC)': ({ createdAt }) => time(createdAt),
  },
};

/** Everything about a room, as `rooms show` answers. */
interface Found {
  readonly room: Room;
  readonly seats: readonly Seat[];
  readonly connections?: number | undefined;
  readonly messages?: number | undefined;
  readonly listed?: z.output<typeof ListedRoom> | undefined;
}

/** What a room is now. */
export function roomFacts({ room, connections }: Pick<Found, 'room' | 'connections'>): Facts {
  const taken = `${room.players?.length ?? '?'} of ${room.maxPlayers ?? '?'}`;
  return [
    ['Phase', given(room.phase, phaseOf)],
    ['Game', room.game],
    ['Seats', room.hostId === null ? `${taken}, with a server in place of a host` : taken],
    ['Connections', connections],
    ['Access', given(room.public, (isPublic) => accessOf(!isPublic, room.locked === true))],
  ];
}

export function roomDetails({ room, messages, listed }: Pick<Found, 'room' | 'messages' | 'listed'>): Facts {
  return [
    ['Listed until', given(listed, ({ until, reservedSeats }) => [time(until), `, ${reservedSeats} seats reserved`])],
    ['Tags', Object.keys(room.tags ?? {}).length === 0 ? undefined : code(JSON.stringify(room.tags))],
    ['State is written by', room.writers],
    ['Changes so far', room.seq],
    ['Messages so far', messages],
    ['Made (UTC)', time(room.createdAt)],
    ['Changed (UTC)', time(room.updatedAt)],
    ['Expires (UTC)', time(room.expiresAt)],
    ['Next room', given(room.nextCode, (next) => link(next, ['rooms', next]))],
  ];
}

/** An ended room is no fault, so it is not marked as one. */
function phaseOf(phase: string): Cell {
  return state(phase, phase === 'ended' ? undefined : true);
}

function accessOf(isPrivate: boolean, isLocked: boolean): Cell {
  return joined([isPrivate ? 'private' : 'public', isLocked ? 'locked' : undefined]);
}

/** A taken seat: what everybody sees of its player, and the account. */
export interface Sitting {
  readonly player: ShownPlayer;
  readonly seat: Seat | undefined;
}

export function sittings({ room, seats }: Pick<Found, 'room' | 'seats'>): Sitting[] {
  return (room.players ?? []).map((player) => ({ player, seat: seats.find(({ playerId }) => playerId === player.id) }));
}

/** Who is in a room. */
export const whoIsThere: Listing<Sitting> = {
  title: 'Seats',
  none: 'Nobody has a seat.',
  columns: {
    Player: ({ player: { id, host } }) => (host ? `${id} (host)` : id),
    Name: ({ player }) => name(player.name),
    Account: ({ seat }) => account(seat?.accountId),
    Here: ({ player, seat }) =>
      player.connected ? state('yes', true) : seat?.awaySince === undefined ? 'no connection' : ['away since ', time(seat.awaySince)],
    Ready: ({ player: { ready } }) => yesNo(ready),
    'Joined (UTC)': ({ player: { joinedAt } }) => time(joinedAt),
  },
};

/** The players who have data. */
export const withData = ({ players = [] }: Pick<Room, 'players'>): ShownPlayer[] => players.filter(({ data }) => data !== null);

/** What the players of a room have written themselves. */
export const ownData: Listing<ShownPlayer> = {
  title: 'Data of players',
  none: 'No player has data.',
  columns: { Player: ({ id }) => id, Data: ({ data }) => code(shortened(data)) },
};

const MOST_SHOWN = 200;

function shortened(data: unknown): string {
  const text = JSON.stringify(data) ?? '';
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)} …` : text;
}

/** What single players see. */
export const hands: Listing<Seat> = {
  title: 'What single players see',
  none: 'Nobody has a seat.',
  columns: { Player: ({ playerId }) => playerId, Sees: (seat) => code(JSON.stringify(seat.private)) },
};
