import { z } from 'zod';
import { isoTime } from '../accounts/merge-rules.ts';
import { AccountId } from '../accounts/ids.ts';
import { refuse } from '../errors.ts';
import { isRoomCode, roomKeys, roomLibrary, type Room } from '../features/rooms/model.ts';
import { ALL_GAMES, entryOf, writtenKeys } from '../features/rooms/list/list-model.ts';
import { fieldsOf, privatePart, roomJson, type RoomFields } from '../features/rooms/record.ts';
import { defineScript } from '../redis/script.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';
import { isUnreadable, UNREADABLE } from './unreadable.ts';

const readRoomScript = defineScript({
  file: new URL('read-room-keys.lua', import.meta.url),
  keys: ['room', 'leases'],
  answers: ['room', 'room_not_found'],
  library: roomLibrary,
  readOnly: true,
});

/**
 * Reads a room's entry in the list of its game, or of all games. listed.lua has the format. `closed`: the list has recorded that the room
 * is not open. Answers listed(time until which somebody is known to be present, reserved seats), closed, none.
 */
const readListedScript = defineScript({
  name: 'operator/read-listed',
  lua: `local text, ends = redis.call('HGET', rooms, entry), redis.call('ZSCORE', untils, entry)
    if not text or not ends or tonumber(ends) <= tonumber(now) then return {'none'} end
    if string.match(text, '^%d+ $') then return {'closed'} end
    return {'listed', ends, redis.call('HGET', taken, entry) or '0'}`,
  keys: ['rooms', 'untils', 'taken'],
  args: ['entry'],
  answers: ['listed', 'closed', 'none'],
  readOnly: true,
});

export const RoomSeat = z.object({
  playerId: z.string(),
  accountId: AccountId.meta({
    description: 'The account that took the seat. It may be a guest that has moved into another account since.',
  }),
  awaySince: z.iso.datetime().optional(),
  private: z.unknown().optional().meta({ description: 'With `private=true`: the part that only this player sees, if there is one.' }),
});

export const ListedRoom = z
  .object({
    until: z.iso.datetime().meta({ description: 'The time at which the room leaves the list if nobody is present by then.' }),
    reservedSeats: z.number().int().meta({ description: 'Seats that are reserved for players from quick matches.' }),
  })
  .meta({ description: "The room's entry in the list of public rooms. Left out if the list does not show the room." });

const WORDS_A_SEAT = 4;

/** A room with the accounts in its seats. Undefined if it does not exist. @throws Refusal `room_not_found` if its data cannot be read */
export async function readRoom(code: string, { scripts }: { readonly scripts: ScriptRunner }) {
  if (!isRoomCode(code)) return undefined;
  const keys = { room: roomKeys.room(code), leases: roomKeys.leases(code) };
  const [word, connections, messages, ...words] = await scripts.run(readRoomScript, keys, {}).catch(refuseUnreadable);
  if (word === 'room_not_found') return undefined;
  const end = seatsEnd(words);
  const seats = Array.from({ length: end / WORDS_A_SEAT }, (_, place) => {
    const [playerId, accountId, away, own] = words.slice(place * WORDS_A_SEAT) as [string, string, string, string];
    return { playerId, accountId, awaySince: isoTime(away), private: parsed(privatePart.parse(own)?.text) };
  });
  const fields = fieldsOf(words.slice(end + 1));
  const listed = await listedOf(fields, { scripts });
  return {
    room: roomOf(words.slice(end + 1)),
    seats,
    connections: Number(connections),
    messages: Number(messages),
    ...(listed === undefined ? {} : { listed }),
  };
}

/** A key of another type, or a room without a field that every room has. Another program has written it. */
function refuseUnreadable(error: unknown): never {
  throw isUnreadable(error) ? refuse('room_not_found', { message: `This room cannot be shown. ${UNREADABLE}` }, error) : error;
}

/** The room's entry in lists of rooms. Undefined: it has none. */
async function listedOf(fields: RoomFields, { scripts }: { readonly scripts: ScriptRunner }) {
  const { rooms, untils, taken } = writtenKeys(fields.get('game') ?? ALL_GAMES);
  const [word, until, reserved] = await scripts.run(readListedScript, { rooms, untils, taken }, { entry: entryOf(fields) });
  return word === 'listed' ? { until: new Date(Number(until)).toISOString(), reservedSeats: Number(reserved) } : undefined;
}

/** @param words names and texts of a room's fields */
export function roomOf(words: readonly string[]): z.output<typeof Room> {
  return JSON.parse(roomJson(fieldsOf(words))) as z.output<typeof Room>;
}

/** The index of the empty word that marks the end of the seats. */
function seatsEnd(words: readonly string[]): number {
  for (let place = 0; ; place += WORDS_A_SEAT) if (words[place] === '') return place;
}

function parsed(text: string | undefined): unknown {
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}
