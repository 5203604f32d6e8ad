import type { z } from 'zod';
import type { Room as RoomShape } from '../../features/rooms/model.ts';
import type { ListedRoom, RoomSeat } from '../room-facts.ts';
import { account, code, given, name, state, time, yesNo, type Facts, type Listing } from './cells.ts';

type Room = z.output<typeof RoomShape>;
type Seat = z.output<typeof RoomSeat>;

export function roomFacts(room: Room): Facts {
  return [
    ['Phase', state(room.phase, room.phase !== 'ended')],
    ['Game', room.game],
    ['Public', yesNo(room.public)],
    ['Locked', yesNo(room.locked)],
    ['Made (UTC)', time(room.createdAt)],
    ['Changed (UTC)', time(room.updatedAt)],
    ['Change', `number ${room.seq}`],
    ['Expires (UTC)', time(room.expiresAt)],
    ['Next room', room.nextCode],
  ];
}

/** What only operators see. */
export function ofOperators({
  connections,
  listed,
}: {
  readonly connections: number;
  readonly listed?: z.output<typeof ListedRoom> | undefined;
}): Facts {
  return [
    ['Connections', connections],
    ['Listed until', given(listed, ({ until, reservedSeats }) => [time(until), `, ${reservedSeats} seats reserved`])],
  ];
}

export const players: Listing<Room['players'][number]> = {
  title: 'Players',
  none: 'Nobody is in the room.',
  columns: {
    Player: ({ id, host }) => (host ? `${id} (host)` : id),
    Name: (player) => name(player.name),
    Ready: ({ ready }) => yesNo(ready),
    Connected: ({ connected }) => yesNo(connected),
    'Joined (UTC)': ({ joinedAt }) => time(joinedAt),
    Data: ({ data }) => code(shortened(data)),
  },
};

const MOST_SHOWN = 200;

function shortened(data: unknown): string {
  const text = JSON.stringify(data) ?? '';
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)} …` : text;
}

export const seatsOf = ({ players: sitting }: Room): Listing<Seat> => ({
  title: 'Seats',
  none: 'Nobody has a seat.',
  columns: {
    Player: ({ playerId }) => playerId,
    Name: ({ playerId }) => name(sitting.find(({ id }) => id === playerId)?.name),
    Account: ({ accountId }) => account(accountId),
    'Away since': ({ awaySince }) => time(awaySince),
  },
});

/** What single players see. */
export const hands: Listing<Seat> = {
  title: 'What single players see',
  none: 'Nobody has a seat.',
  columns: { Player: ({ playerId }) => playerId, Sees: (seat) => code(JSON.stringify(seat.private)) },
};
