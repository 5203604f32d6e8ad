import { randomInt } from 'node:crypto';
import type { z } from 'zod';
import { opensAccount } from '../../accounts/prologues.ts';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import type { Config } from '../../config.ts';
import { refuse } from '../../errors.ts';
import { onAnyPrimary } from '../../redis/any-primary.ts';
import { defineScript } from '../../redis/script.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { CODE_COUNT, codeOf, roomKeys, roomLibrary, SEATS_KEPT_SECONDS, Tags, tagsText, ttlMsOf, Writers } from './model.ts';
import type { ListWriter } from './list/list-writer.ts';
import type { RoomIndex } from './room-index.ts';
import { fieldLines, newPlayer, type RoomFields } from './record.ts';

const createScript = defineScript({
  file: new URL('create.lua', import.meta.url),
  keys: ['room', 'seats'],
  args: ['code', 'fields', 'accountId', 'ttlMs'],
  answers: ['created', 'taken'],
  prologue: opensAccount,
  shared: ['seatsKeptSeconds'],
  slotOf: 'room',
  lists: { index: 'seats', member: 'code', keptSeconds: SEATS_KEPT_SECONDS },
  library: roomLibrary,
  durable: true,
});

/** At most this many random codes are tried for a new room. If half of all codes are taken, one new room in a million gets no code. */
const CODE_TRIES = 20;

export interface NewRoomSettings {
  game?: string | undefined;
  minPlayers: number;
  maxPlayers: number;
  writers: z.output<typeof Writers>;
  public: boolean;
  tags: z.output<typeof Tags>;
  /** The game's public state as JSON text. */
  stateText: string;
  /** Whether the room starts by itself when all seats are taken and no player is away. Clients do not see this setting. */
  startWhenFull: boolean;
  seatGraceSeconds?: number | null | undefined;
}

export interface NewRoomServices {
  readonly scripts: CallerScripts;
  readonly config: Pick<Config, 'ROOM_TTL_SECONDS'>;
  readonly now: () => number;
  readonly listWriter: Pick<ListWriter, 'changed' | 'touched' | 'opened'>;
  readonly roomIndex: Pick<RoomIndex, 'add'>;
}

/**
 * The settings of a room, for the lobby of a rematch.
 * @param fields the room's public fields
 * @param more the setting that the public fields do not have, and whether the grace of seats is the default of a quick match
 */
export function settingsOf(
  fields: RoomFields,
  { startWhenFull, isGraceOfMatch }: { startWhenFull: boolean; isGraceOfMatch: boolean },
): NewRoomSettings {
  const grace = Number(fields.get('seatGraceSeconds'));
  return {
    seatGraceSeconds: isGraceOfMatch || !(grace > 0) ? null : grace,
    game: fields.get('game'),
    minPlayers: Number(fields.get('minPlayers')),
    maxPlayers: Number(fields.get('maxPlayers')),
    writers: Writers.parse(fields.get('writers')),
    public: fields.get('public') === 'true',
    tags: Tags.parse(JSON.parse(fields.get('tags')!)),
    stateText: '{}',
    startWhenFull,
  };
}

/**
 * The fields of a new room.
 * @param of `host`: the record of the first player (`newPlayer`), or undefined for a room without a host. `at`: the time at which the room
 * is created, in milliseconds since 1970
 */
export function newRoomFields(
  { code, host, at, ttlMs }: { readonly code: string; readonly host: string | undefined; readonly at: number; readonly ttlMs: number },
  settings: NewRoomSettings,
): RoomFields {
  return new Map(
    Object.entries({
      code,
      ...(settings.game === undefined ? {} : { game: settings.game }),
      phase: 'lobby',
      seq: '1',
      minPlayers: String(settings.minPlayers),
      maxPlayers: String(settings.maxPlayers),
      locked: 'false',
      writers: settings.writers,
      public: String(settings.public),
      tags: tagsText(settings.tags),
      state: settings.stateText,
      stateSeq: '1',
      players: host === undefined ? '' : 'p1',
      ...(host === undefined ? {} : { hostId: 'p1', p1: host }),
      createdAt: String(at),
      updatedAt: String(at),
      expiresAt: String(at + ttlMs),
      ...(typeof settings.seatGraceSeconds === 'number' ? { seatGraceSeconds: String(settings.seatGraceSeconds) } : {}),
      ...(settings.startWhenFull ? { startWhenFull: '1' } : {}),
    }),
  );
}

/**
 * Opens a room under a free code.
 * @param creator the host and first player; undefined for a server's room, which has no host, and no players at first
 * @param name the name of the first player. Undefined: "Player 1"
 * @throws Refusal `overloaded` if all of CODE_TRIES random codes were taken
 */
export async function openRoom(
  creator: Caller | undefined,
  name: string | undefined,
  settings: NewRoomSettings,
  { scripts, config, now, listWriter, roomIndex }: NewRoomServices,
): Promise<RoomFields> {
  const at = now();
  const ttlMs = ttlMsOf(config);
  const create = async (code: string): Promise<RoomFields | undefined> => {
    const host = creator === undefined ? undefined : newPlayer(name ?? 'Player 1', new Date(at).toISOString());
    const fields = newRoomFields({ code, host, at, ttlMs }, settings);
    const keys = { room: roomKeys.room(code), seats: creator === undefined ? '' : roomKeys.seats(creator.accountId, at) };
    const args = { code, seatsKeptSeconds: SEATS_KEPT_SECONDS, fields: fieldLines(fields), accountId: creator?.accountId ?? '', ttlMs };
    roomIndex.add(code, settings.game);
    const [word] = await scripts.runWithOrWithout(creator, createScript, keys, args);
    return word === 'created' ? fields : undefined;
  };
  for (let tries = 0; tries < CODE_TRIES; tries++) {
    const fields = await onAnyPrimary({ draw: () => codeOf(randomInt(CODE_COUNT)), keyOf: roomKeys.room, run: create }, scripts);
    if (fields === undefined) continue;
    if (settings.public) listWriter.opened(fields);
    return fields;
  }
  throw refuse('overloaded', { retryAfterMs: 1000 });
}
