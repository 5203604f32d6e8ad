import { z } from 'zod';
import { isoTime } from '../accounts/merge-rules.ts';
import { AccountId } from '../accounts/ids.ts';
import { refuse, type Refusal } from '../errors.ts';
import { isRoomCode, Room, roomKeys, roomLibrary, type Player } from '../features/rooms/model.ts';
import { ALL_GAMES, entryOf, writtenKeys } from '../features/rooms/list/list-model.ts';
import {
  fieldsOf,
  isMember,
  memberText,
  playerJson,
  privatePart,
  roomFields,
  roomJson,
  seatedIn,
  type RoomFields,
} from '../features/rooms/record.ts';
import { isUnreadable, Parts } from '../redis/unreadable.ts';
import { UNREADABLE } from './unreadable.ts';
import { defineScript } from '../redis/script.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';

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

/** A room as operators see it. If its data is damaged, any member but the code may be missing. */
export const ShownRoom = Room.partial()
  .required({ code: true })
  .meta({ id: 'ShownRoom', description: 'As `Room`. A member whose data is damaged is left out.' });

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

interface RoomServices {
  readonly scripts: ScriptRunner;
}

/** A room with the accounts in its seats. */
export interface FoundRoom<OfRoom> {
  readonly room: OfRoom;
  readonly seats: z.output<typeof RoomSeat>[];
  readonly connections: number;
  readonly messages: number;
  readonly listed?: z.output<typeof ListedRoom>;
}

/**
 * A room with the accounts in its seats. Undefined if it does not exist.
 * @param parts notes damaged parts, which are left out. If left out, a damaged room counts as none
 * @throws Refusal `room_not_found` if its data cannot be read, without `parts`
 */
export async function readRoom(code: string, services: RoomServices): Promise<FoundRoom<z.output<typeof Room>> | undefined>;
export async function readRoom(
  code: string,
  services: RoomServices,
  parts: Parts,
): Promise<FoundRoom<z.output<typeof ShownRoom>> | undefined>;
export async function readRoom(
  code: string,
  { scripts }: RoomServices,
  parts?: Parts,
): Promise<FoundRoom<z.output<typeof ShownRoom>> | undefined> {
  if (!isRoomCode(code)) return undefined;
  const keys = { room: roomKeys.room(code), leases: roomKeys.leases(code) };
  const found = scripts.run(readRoomScript, keys, {});
  const [word, connections, messages, ...words] = await (parts === undefined ? found.catch(refuseUnreadable) : found);
  if (word === 'room_not_found') return undefined;
  const end = seatsEnd(words);
  const taken = Array.from({ length: end / WORDS_A_SEAT }, (_, place) => {
    const [playerId, accountId, away, own] = words.slice(place * WORDS_A_SEAT) as [string, string, string, string];
    return { playerId, accountId, awaySince: isoTime(away), own: privatePart.parse(own)?.text };
  });
  const fields = fieldsOf(words.slice(end + 1));
  const readPart = <Found>(name: string, read: () => Found | Promise<Found>) => (parts === undefined ? read() : parts.read(name, read));
  const listed = await readPart('entry in the list of rooms', () => listedOf(fields, { scripts }));
  const seats = await Promise.all(
    taken.map(async ({ own, ...seat }) => ({ ...seat, private: await readPart(`private part of ${seat.playerId}`, () => parsed(own)) })),
  );
  const room = parts === undefined ? roomOf(words.slice(end + 1)) : await readableRoom(code, fields, parts);
  return { room, seats, connections: Number(connections), messages: Number(messages), ...(listed === undefined ? {} : { listed }) };
}

export function unreadableRoom(cause?: unknown): Refusal<'room_not_found'> {
  return refuse('room_not_found', { message: `This room cannot be shown. ${UNREADABLE}` }, cause);
}

/** A key of another type, or a room without a field that every room has. Another program has written it. */
function refuseUnreadable(error: unknown): never {
  throw isUnreadable(error) ? unreadableRoom(error) : error;
}

/** The room, without the members that are damaged. */
async function readableRoom(code: string, fields: RoomFields, parts: Parts): Promise<z.output<typeof ShownRoom>> {
  const whole = await new Parts().read('room', () => JSON.parse(roomJson(fields)) as z.output<typeof Room>);
  // The reply has the code of the request, because the code in the record may be damaged.
  if (whole !== undefined) return { ...whole, code };
  const members: [string, unknown][] = [];
  for (const name of roomFields.filter(isMember)) {
    const text = memberText(name, fields.get(name));
    if (text !== undefined) members.push([name, await parts.read(name, () => JSON.parse(text) as unknown)]);
  }
  const ids = seatedIn(fields.get('players') ?? '');
  const players = await parts.readEach(
    ids,
    (id) => `player ${id}`,
    (id) => JSON.parse(playerJson(id, fields.get(id), fields.get(`${id}.data`), fields.get('hostId'))) as z.output<typeof Player>,
  );
  return { ...Object.fromEntries(members), code, players };
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
  let place = 0;
  while (place < words.length && words[place] !== '') place += WORDS_A_SEAT;
  return place;
}

function parsed(text: string | undefined): unknown {
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}
