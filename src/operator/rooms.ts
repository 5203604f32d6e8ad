import { z } from 'zod';
import { invalid, refuse, Refusal } from '../errors.ts';
import { Room, RoomCode, roomKeys, roomLibrary, ttlMsOf } from '../features/rooms/model.ts';
import { defineScript } from '../redis/script.ts';
import { operation, Reason, type OperatorServices } from './operation.ts';
import { Parts } from '../redis/unreadable.ts';
import { ListedRoom, readRoom, roomOf, RoomSeat, ShownRoom } from './room-facts.ts';
import { changesOf } from './subject-change.ts';
import { some, table } from './shown/cells.ts';
import { ownData, roomDetails, roomFacts, sittings, whoIsThere, withData } from './shown/shown-rooms.ts';

const endScript = defineScript({
  file: new URL('end-room.lua', import.meta.url),
  keys: ['room'],
  args: ['ttlMs'],
  answers: ['ended', 'unchanged', 'room_not_found'],
  library: roomLibrary,
});

export const showRoom = operation({
  name: 'rooms show',
  method: 'GET',
  path: '/v1/admin/rooms/{code}',
  operationId: 'showRoom',
  role: 'viewer',
  reach: 'room',
  roleFor: ({ private: isPrivate }) => (isPrivate === 'true' ? 'support' : 'viewer'),
  summary: 'A room as its players see it, with the accounts in its seats.',
  description:
    'With `private=true` each seat has the part that only its player sees, such as a hand of cards. Such a read needs the role ' +
    '`support`, and ' +
    'the operators’ log records it with its `reason` before anything is shown.',
  input: z.object({
    code: RoomCode,
    private: z
      .enum(['true', 'false'])
      .optional()
      .meta({ description: 'Whether to show data that only single players see, too. The log then records this read.', default: 'false' }),
    reason: Reason.optional().meta({ description: 'With `private=true`: why, for other operators. Needed.' }),
  }),
  reply: z.object({
    room: ShownRoom,
    seats: z.array(RoomSeat),
    connections: z.number().int().optional(),
    messages: z
      .int()
      .min(0)
      .optional()
      .meta({
        description:
          'Messages of players and servers since the room was created. From `messages` and `seq` of two answers follows how many acts a second ' +
          'the room has.',
      }),
    listed: ListedRoom.optional(),
  }),
  errors: ['invalid_request', 'room_not_found'],
  example: `curl -s $base/v1/admin/rooms/BCDFG -H "authorization: Bearer $COINOP_KEY"`,
  shown: (found) => [
    `Room ${found.room.code}`,
    { title: '', facts: [...roomFacts(found), ...roomDetails(found)] },
    table(whoIsThere, sittings(found)),
    ...some(ownData, withData(found.room)),
    `state: ${JSON.stringify(found.room.state)}`,
    ...found.seats.flatMap(({ playerId, private: own }) => (own === undefined ? [] : [`${playerId} alone sees: ${JSON.stringify(own)}`])),
  ],
  async prepare({ code, private: isPrivate, reason }, services) {
    if (isPrivate === 'true' && reason === undefined) return invalid('reason', 'Is needed to see what single players see');
    const parts = new Parts();
    const known = await parts.read(`room ${code}`, async () => (await readRoom(code, services, parts)) ?? refuse('room_not_found'));
    if (known instanceof Refusal) return known;
    const found = { ...(known ?? { room: { code }, seats: [] }), unreadable: parts.unreadable };
    const { seats, ...others } = found;
    if (isPrivate !== 'true') return { reply: { ...others, seats: seats.map(({ private: _, ...seat }) => seat) } };
    return { what: { room: code, private: 'shown' }, why: reason!, act: async () => found };
  },
});

/** Declares a change of a room. */
export const roomChange = changesOf({
  group: 'rooms',
  field: 'code',
  shape: RoomCode,
  sample: 'BCDFG',
  reach: 'room',
  reason: Reason,
  errors: ['room_not_found'],
  find: findRoom,
  what: ({ room }) => ({ room: room.code }),
});

export const endRoom = roomChange({
  verb: 'end',
  operationId: 'endRoomAsOperator',
  title: 'End the room',
  role: 'support',
  summary: 'Ends a room in any phase. Its watchers get the last state, and then their connections are closed.',
  reply: z.object({ room: Room }),
  errors: ['room_ended'],
  body: { reason: 'abuse, ticket 4711' },
  shown: ({ room: { code } }) => [`The room ${code} has ended.`],
  async plan({ room }, _, services) {
    const { code } = room;
    if (room.phase === 'ended') return refuse('room_ended');
    return {
      question: `End the room ${code}, which is in the phase ${room.phase} with ${room.players.length} players?`,
      what: { phase: room.phase, players: room.players.length },
      async act() {
        const { scripts, config } = services;
        const [word, ...words] = await scripts.run(endScript, { room: roomKeys.room(code) }, { ttlMs: ttlMsOf(config) });
        if (word === 'room_not_found') return refuse(word);
        if (word === 'unchanged') return refuse('room_ended');
        return { room: roomOf(words) };
      },
    };
  },
});

export async function findRoom(code: string, services: OperatorServices) {
  return (await readRoom(code, services)) ?? refuse('room_not_found');
}
