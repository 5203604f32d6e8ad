import { z } from 'zod';
import { isoTime } from '../accounts/merge-rules.ts';
import { PlayerCount, Room, roomKeys, roomLibrary } from '../features/rooms/model.ts';
import type { IndexedRoom } from '../features/rooms/room-index.ts';
import { defineScript } from '../redis/script.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';
import { isUnreadable } from '../redis/unreadable.ts';
import { UNREADABLE } from './unreadable.ts';

const readRow = defineScript({
  file: new URL('read-room-row.lua', import.meta.url),
  keys: ['room'],
  answers: ['row', 'room_not_found'],
  library: roomLibrary,
  readOnly: true,
});

const { phase: Phase } = Room.shape;

/** A room in the operators' list. It has no text that players wrote, and nothing that only single players see. */
export const RoomRow = z
  .object({
    code: z.string(),
    game: z.string().optional(),
    phase: Phase.optional().meta({ description: 'Left out for a room that cannot be read.' }),
    players: z.int().min(0).optional().meta({ description: 'Number of taken seats.' }),
    present: z.int().min(0).optional().meta({ description: "Number of players who have a connection on the room's live channel." }),
    maxPlayers: PlayerCount.optional(),
    server: z
      .enum(['present', 'away'])
      .optional()
      .meta({ description: "Only for a server's room, which has no host: whether the server has a connection on the live channel." }),
    locked: z.boolean().optional(),
    private: z.boolean().optional().meta({ description: 'True if the list of public rooms never shows the room.' }),
    createdAt: z.iso.datetime().optional(),
    updatedAt: z.iso.datetime().optional().meta({ description: 'The last change of the room.' }),
    expiresAt: z.iso.datetime().optional(),
    problem: z.string().optional().meta({ description: 'Why nothing else is known of a room.', example: UNREADABLE }),
  })
  .meta({
    id: 'RoomRow',
    example: {
      code: 'BCDFG',
      game: 'pebble-drop',
      phase: 'playing',
      players: 3,
      present: 2,
      maxPlayers: 4,
      locked: false,
      private: true,
      createdAt: '2026-11-22T12:00:00.000Z',
      updatedAt: '2026-11-22T12:05:00.000Z',
      expiresAt: '2026-11-22T14:05:00.000Z',
    },
  });

export type Row = z.output<typeof RoomRow>;

/** The row of a room of the index. Undefined if the room does not exist, or if its code now belongs to a room of another game. */
export async function rowOf({ code, game }: IndexedRoom, { scripts }: { readonly scripts: ScriptRunner }): Promise<Row | undefined> {
  const unreadable = { code, game, problem: UNREADABLE };
  try {
    const [word, ofGame, phase, ...words] = await scripts.run(readRow, { room: roomKeys.room(code) }, {});
    if (word === 'room_not_found' || (ofGame || undefined) !== game) return undefined;
    const [players, present, maxPlayers, locked, isPublic, isServers, isServerHere, createdAt, updatedAt, expiresAt] = words;
    const known = Phase.safeParse(phase);
    if (!known.success) return unreadable;
    return {
      code,
      game,
      phase: known.data,
      players: Number(players),
      present: Number(present),
      maxPlayers: Number(maxPlayers),
      ...(isServers === '1' ? { server: isServerHere === '1' ? 'present' : 'away' } : {}),
      locked: locked === 'true',
      private: isPublic !== 'true',
      createdAt: isoTime(createdAt),
      updatedAt: isoTime(updatedAt),
      expiresAt: isoTime(expiresAt),
    };
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return unreadable;
  }
}
