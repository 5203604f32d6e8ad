import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { refuse, Refusal } from '../errors.ts';
import { isRoomCode, Room, RoomCode, roomKeys, roomLibrary, roomPrelude, roomTimeArgs, roomTimes } from '../features/rooms/model.ts';
import { defineScript } from '../redis/script.ts';
import { operation, Reason, type Operator, type OperatorParts } from './operation.ts';
import { readRoom } from './room-facts.ts';

const endScript = defineScript({
  file: new URL('end-room.lua', import.meta.url),
  keys: ['room'],
  args: [...roomTimeArgs],
  answers: ['ended', 'unchanged', 'room_not_found'],
  library: roomLibrary,
  prelude: roomPrelude,
});

const Seat = z.object({
  playerId: z.string(),
  accountId: AccountId.meta({ description: 'That of a guest even if it moved into another account since.' }),
  awaySince: z.iso.datetime().optional(),
});

export const showRoom = operation({
  name: 'rooms show',
  method: 'GET',
  path: '/v1/admin/rooms/{code}',
  operationId: 'showRoom',
  summary: 'A room as its players see it, with the accounts in its seats.',
  input: z.object({ code: RoomCode }),
  reply: z.object({ room: Room, seats: z.array(Seat), connections: z.number().int() }),
  errors: ['room_not_found'],
  example: `curl -s $base/v1/admin/rooms/BCDFG -H "authorization: Bearer $COINOP_KEY"`,
  async prepare({ code }, parts, operator) {
    const found = await roomOf(code, parts, operator);
    return found instanceof Refusal ? found : { reply: found };
  },
});

export const endRoom = operation({
  name: 'rooms end',
  method: 'POST',
  path: '/v1/admin/rooms/{code}/end',
  operationId: 'endRoomAsOperator',
  summary: 'Ends a room, in any phase. Its watchers get the last state, and their connections are closed.',
  input: z.object({ code: RoomCode, reason: Reason }),
  reply: z.object({ room: Room }),
  errors: ['room_not_found', 'room_ended'],
  example:
    `curl -s $base/v1/admin/rooms/BCDFG/end -H "authorization: Bearer $COINOP_KEY" ` +
    `-H 'content-type: application/json' -d '{"reason":"abuse, ticket 4711"}'`,
  async prepare({ code, reason }, parts, operator) {
    const found = await roomOf(code, parts, operator);
    if (found instanceof Refusal) return found;
    const { room } = found;
    if (room.phase === 'ended') return refuse('room_ended');
    return {
      question: `End the room ${code}, which is in the phase ${room.phase} with ${room.players.length} players? Reason: ${reason}`,
      what: { room: code, phase: room.phase, players: room.players.length },
      why: reason,
      async act() {
        const { scripts, now, config } = parts;
        const [word, docText = '', stateText = ''] = await scripts.run(endScript, { room: roomKeys.room(code) }, roomTimes(now(), config));
        if (word === 'room_not_found') return refuse(word);
        if (word === 'unchanged') return refuse('room_ended');
        return { room: { ...(JSON.parse(docText) as typeof room), state: JSON.parse(stateText) as unknown } };
      },
    };
  },
});

async function roomOf(code: string, parts: OperatorParts, { key }: Operator) {
  const found = isRoomCode(code) ? await readRoom(code, parts) : undefined;
  if (found === undefined) return refuse('room_not_found');
  if (key?.game !== undefined && found.room.game !== key.game)
    return refuse('forbidden', { message: `This server key is for the game ${key.game}.`, field: 'code' });
  return found;
}
