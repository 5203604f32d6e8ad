import { z } from 'zod';
import type { Config } from '../../config.ts';
import { Encoded } from '../../server/http/endpoint.ts';

export const MAX_PLAYERS = 64;

/** Of the state's JSON text in UTF-8: everyone in the room is sent all of it with every change. */
export const STATE_LIMIT_BYTES = 8 * 1024;

/** No vowels, so that no code is a word, and no Y, which is often read as one. */
const CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const CODE_LENGTH = 5;
const CODE = new RegExp(`^[${CODE_LETTERS}]{${CODE_LENGTH}}$`);

/** A code with as many blanks and dashes as anybody types. */
const LONGEST_TYPED = 64;

/** How many rooms there can be at a time: 3.2 million. */
export const CODE_COUNT = CODE_LETTERS.length ** CODE_LENGTH;

/** The code with this number, 0 to CODE_COUNT − 1. */
export function codeOf(number: number): string {
  let code = '';
  for (let rest = number; code.length < CODE_LENGTH; rest = Math.floor(rest / CODE_LETTERS.length)) {
    code += CODE_LETTERS[rest % CODE_LETTERS.length];
  }
  return code;
}

/** As people type it. What is no code at all is a room that does not exist, not a bad request. */
export const RoomCode = z
  .string()
  .transform((text) => (text.length > LONGEST_TYPED ? '' : text.replace(/[\s\p{Pd}]/gu, '').toUpperCase()))
  .meta({ description: 'Five letters of BCDFGHJKLMNPQRSTVWXZ; case, spaces and dashes do not matter.', example: 'BCDFG' });

export function isRoomCode(text: string): boolean {
  return CODE.test(text);
}

export const roomKeys = {
  /** A hash; `doc.lua` says what of. Changes are published on a channel of the same name. */
  room: (code: string) => `{room:${code}}`,
  /** A sorted set: connections of its players by the time until which they count. */
  leases: (code: string) => `{room:${code}}:leases`,
  /** A sorted set: codes of rooms by the time at which their presence has to be looked at. */
  due: 'rooms:due',
};

/** Lua that every script shares which reads a room's head. */
export const roomLibrary = new URL('head.lua', import.meta.url);

/** Lua that every script changing a room shares, on top of that. */
export const roomPrelude = new URL('doc.lua', import.meta.url);

/** The game's public state comes in as any JSON and goes on as its text, which is what is kept and sent. */
export const StateText = z
  .unknown()
  .transform((state, context) => {
    // The body was let in: it does not nest deeper than MAX_JSON_DEPTH.
    const text = JSON.stringify(state);
    if (Buffer.byteLength(text) <= STATE_LIMIT_BYTES) return text;
    context.issues.push({ code: 'custom', message: `Must be at most ${STATE_LIMIT_BYTES} bytes of JSON`, input: state });
    return z.NEVER;
  })
  .meta({ description: `The game's public state: any JSON of at most ${STATE_LIMIT_BYTES} bytes, nested at most 31 levels deep.` });

export const PlayerCount = z.number().int().min(1).max(MAX_PLAYERS);

export const PlayerId = z
  .string()
  .meta({ description: "The room's own: p1, p2, … in the order of joining, none of them given twice.", example: 'p2' });

const Player = z
  .object({
    id: PlayerId,
    name: z.string(),
    ready: z.boolean().meta({ description: 'Information for the others: the host may start all the same.' }),
    connected: z
      .boolean()
      .meta({ description: "Whether the player is there on the room's live channel. A game that only uses HTTP leaves it aside." }),
    host: z.boolean(),
    joinedAt: z.iso.datetime(),
  })
  .meta({ id: 'Player' });

export const Room = z
  .object({
    code: z.string(),
    game: z.string().optional(),
    phase: z.enum(['lobby', 'playing', 'ended']),
    seq: z.number().int().min(1).meta({ description: 'Rises by one with every change.' }),
    hostId: PlayerId.meta({ description: 'The host; in a room that everybody left, the last one.' }),
    minPlayers: PlayerCount,
    maxPlayers: PlayerCount,
    locked: z.boolean().meta({ description: 'Nobody can join.' }),
    state: z.unknown().meta({ description: "The game's public state, as its host set it; `{}` at first." }),
    players: z.array(Player).meta({ description: 'Longest seated first.' }),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    startedAt: z.iso.datetime().optional(),
    endedAt: z.iso.datetime().optional(),
    expiresAt: z.iso.datetime().meta({ description: 'When the room goes unless it changes before.' }),
    nextCode: z.string().optional().meta({ description: 'The lobby of the rematch.' }),
  })
  .meta({ id: 'Room' });

export const You = z
  .object({ playerId: PlayerId, host: z.boolean() })
  .meta({ id: 'You', description: "The caller's seat; after `leave` the one given up." });

export const RoomReply = z.object({ room: Room });
export const SeatedReply = z.object({ room: Room, you: You });

/** What everybody sees of a room, but for the game's state: it is kept and published as this is sent. */
export type RoomDoc = Omit<z.input<typeof Room>, 'state'>;

/** The times that a script needs to change a room; the texts because Lua has no calendar. */
export const roomTimeArgs = ['nowText', 'ttlMs', 'expiresText'] as const;

export function roomTimes(at: number, { ROOM_TTL_SECONDS }: Config): { nowText: string; ttlMs: number; expiresText: string } {
  const ttlMs = ROOM_TTL_SECONDS * 1000;
  return { nowText: new Date(at).toISOString(), ttlMs, expiresText: new Date(at + ttlMs).toISOString() };
}

/** The public room as JSON text. */
export function roomText(docText: string, stateText: string): string {
  return `${docText.slice(0, -1)},"state":${stateText}}`;
}

export function roomReply(docText: string, stateText: string): Encoded {
  return new Encoded(`{"ok":true,"room":${roomText(docText, stateText)}}`);
}

/** @param you the caller's seat, which may just have been given up */
export function seatedReply(docText: string, stateText: string, you: z.input<typeof You>): Encoded {
  return new Encoded(`{"ok":true,"room":${roomText(docText, stateText)},"you":${JSON.stringify(you)}}`);
}
