import { z } from 'zod';
import { standingLibrary } from '../../accounts/standing.ts';
import type { Config } from '../../config.ts';
import { Encoded } from '../../server/http/endpoint.ts';
import { unkeptIn } from '../../server/http/json.ts';
import { roomJson, type Private, type RoomFields } from './record.ts';
import { defineLibrary } from '../../redis/script.ts';
import { playerRecord, privatePart, roomFields } from './record.ts';

/** The most seats of a room. */
export const MAX_PLAYERS = 64;

/**
 * The most bytes of a seat's public data, of a seat's private part and of a message, as JSON text. In a room of more than 16 seats the
 * public data of all seats together has 16 KiB at most.
 */
export const DATA_LIMIT_BYTES = 1024;

/**
 * The most bytes of a room's state as JSON text in UTF-8. The bound is low because every change of the room may send the whole state to
 * every watcher.
 */
export const STATE_LIMIT_BYTES = 8 * 1024;

/** The letters of room codes. There are no vowels, so that no code is a word, and no Y, which is often read as a vowel. */
const CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';

/** The number of letters of a code. These letters give 3.2 million codes (`CODE_COUNT`). */
const CODE_LENGTH = 5;
const CODE = new RegExp(`^[${CODE_LETTERS}]{${CODE_LENGTH}}$`);

/** The longest text that is read as a room code, in UTF-16 units, with the spaces and dashes that people type. A longer text is no code. */
const LONGEST_TYPED = 64;

/** The number of room codes, and so of rooms that can exist at the same time: 3.2 million. */
export const CODE_COUNT = CODE_LETTERS.length ** CODE_LENGTH;

/** The room code with this number. @param number 0 to CODE_COUNT − 1 */
export function codeOf(number: number): string {
  let code = '';
  for (let rest = number; code.length < CODE_LENGTH; rest = Math.floor(rest / CODE_LETTERS.length)) {
    code += CODE_LETTERS[rest % CODE_LETTERS.length];
  }
  return code;
}

/** A room code in a request, as people type codes. A text that cannot be a code is `room_not_found` (404), not `invalid_request` (400). */
export const RoomCode = z
  .string()
  .transform((text) => (text.length > LONGEST_TYPED ? '' : text.replace(/[\s\p{Pd}]/gu, '').toUpperCase()))
  .meta({ description: 'Five letters of BCDFGHJKLMNPQRSTVWXZ. Case, spaces and dashes do not matter.', example: 'BCDFG' });

export function isRoomCode(text: string): boolean {
  return CODE.test(text);
}

const WEEK_MS = 7 * 86_400_000;

/** The number of the week to which a time belongs: the number of whole weeks since 1970. */
function weekOf(at: number): number {
  return Math.floor(at / WEEK_MS);
}

/**
 * How long Redis keeps the set of rooms in which an account took a seat in one week. The set stays for a week after its own week, so that a
 * deletion finds at least the seats of the last seven days.
 */
export const SEATS_KEPT_SECONDS = 15 * 86_400;

/**
 * At the time `at` an account may have sets of seats of several weeks. Gives a time in each of these weeks. The next week is included,
 * because the clock of another process may be ahead.
 */
export function weeksWithSeats(at: number): number[] {
  return [-2, -1, 0, 1].map((weeks) => at + weeks * WEEK_MS);
}

/**
 * The times of `weeksWithSeats`, in an order in which each week keeps its position when a new week begins. The weeks keep their positions,
 * because the cursor of a long export names a week by its position.
 */
export function weeksInPlace(at: number): number[] {
  const weeks = weeksWithSeats(at);
  return weeks.toSorted((one, other) => (weekOf(one) % weeks.length) - (weekOf(other) % weeks.length));
}

export const roomKeys = {
  /** A hash: the room, with the fields that `room.lua` lists. Changes and messages are published on a channel with the name of the key. */
  room: (code: string) => `{room:${code}}`,
  /** A sorted set: the players' connections. The score is the time at which the lease of a connection ends (`presence.lua`). */
  leases: (code: string) => `{room:${code}}:leases`,
  /** A text that marks a ticket as used. The key expires after the ticket. */
  usedTicket: (code: string, id: string) => `{room:${code}}:ticket:${id}`,
  /** A set: the codes of rooms in which the account took a seat in the week of `at`. The account may have left some of these rooms. */
  seats: (accountId: string, at: number) => `{${accountId}}:seats:${weekOf(at)}`,
  /** The name of the queue of rooms. Its members are room codes. A room is due at the time at which `presence.lua` has to run for it. */
  due: 'rooms:due',
  /** The name of the queue that is the index of all rooms. Its members are codes with games (`room-index.ts`). */
  expiry: 'room-expiry:due',
  /**
   * A hash from which processes read the time since which they could always accept channels (`channel-uptime.ts`). There are enough tags to
   * have one on each primary of a Cluster.
   */
  served: (tag: number) => `{served:${tag}}`,
};

/** Lua functions for every script that reads or changes a room. */
export const roomLibrary = defineLibrary(new URL('room.lua', import.meta.url), {
  formats: [playerRecord, privatePart],
  constants: { FIELDS: roomFields },
});

/** The Lua libraries of scripts that act for a caller in a room. */
export const roomLibraries = [standingLibrary, roomLibrary];

/** Accepts any JSON, but refuses numbers and texts that the service cannot keep as they were sent. */
export const FreeJson = z.unknown().superRefine((value, context) => {
  const unkept = unkeptIn(value);
  if (unkept !== undefined) context.addIssue({ code: 'custom', message: unkept.message, path: [...unkept.path] });
});

/** Accepts any JSON of at most `limitBytes` bytes, and gives its text, which is stored and sent. */
export function jsonText(limitBytes: number) {
  return FreeJson.transform((value, context) => {
    // The value is cheap to encode, because the pipeline refuses bodies that are nested deeper than MAX_JSON_DEPTH. Without this bound, a
    // value with 3,500 levels would take 10 ms.
    const text = JSON.stringify(value);
    if (Buffer.byteLength(text) <= limitBytes) return text;
    context.issues.push({ code: 'custom', message: `Must be at most ${limitBytes} bytes of JSON`, input: value });
    return z.NEVER;
  });
}

/** Makes a schema that also refuses a member with the name `__proto__`, which `z.record` would drop without an error. */
export function withoutProto<Members extends z.ZodType>(members: Members) {
  return z.preprocess((value, context) => {
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__'))
      context.addIssue({ code: 'custom', message: 'Must not be a name', path: ['__proto__'] });
    return value;
  }, members);
}

/** A game's public state in a request. Gives the state's JSON text. */
export const StateText = jsonText(STATE_LIMIT_BYTES).meta({
  description: `The game's public state: any JSON of at most ${STATE_LIMIT_BYTES} bytes, nested at most 31 levels deep.`,
});

export const PlayerCount = z.number().int().min(1).max(MAX_PLAYERS);

export const PlayerId = z
  .string()
  // Scripts get player ids in lines or separated by blanks, so an id must not contain a line break or a blank.
  .regex(/^p[1-9]\d{0,14}$/, 'Must be the id of a player')
  .meta({ description: "The player's id in this room: p1, p2, … in the order of joining. No id is given twice.", example: 'p2' });

export const Player = z
  .object({
    id: PlayerId,
    name: z.string(),
    ready: z.boolean().meta({ description: 'Shown to the other players. The host may start the room even if players are not ready.' }),
    connected: z
      .boolean()
      .meta({ description: "Whether the player has a connection on the room's live channel. A game that only uses HTTP can ignore it." }),
    host: z.boolean(),
    joinedAt: z.iso.datetime(),
    data: z.unknown().meta({ description: 'Data that only the player can write: any JSON, `null` at first.' }),
  })
  .meta({
    id: 'Player',
    example: { id: 'p1', name: 'Ann', ready: false, connected: true, host: true, joinedAt: '2026-11-22T12:00:00.000Z', data: { x: 3 } },
  });

export const TAG_NAME = /^[a-z][a-z0-9_]{0,31}$/;

/** The most characters of a tag's text, in UTF-16 units. */
export const TAG_LENGTH = 64;

/** The most tags of a room. */
export const MOST_TAGS = 8;

/** Tags by which players find a room. */
export const Tags = withoutProto(
  z
    .record(
      z.string().regex(TAG_NAME, 'Must be 1 to 32 small letters, digits and underscores, a letter first'),
      z.union([z.string().max(TAG_LENGTH), z.number(), z.boolean()]),
    )
    .refine((tags) => Object.keys(tags).length <= MOST_TAGS, `Must be at most ${MOST_TAGS}`)
    .meta({
      description: `At most ${MOST_TAGS} names (small letters, digits, underscores), each with a text of at most ${TAG_LENGTH} characters, a number or a boolean.`,
      example: { mode: 'duel' },
    }),
);

/** The JSON text in which a room keeps its tags. The tags are sorted by name, so that equal tags give equal texts. */
export function tagsText(tags: z.output<typeof Tags>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(tags).toSorted(([one], [other]) => (one < other ? -1 : 1))));
}

/** The clients that may write the game's state. */
export const Writers = z.enum(['host', 'players', 'server']).meta({
  description: "Who may write the game's state: the host, every player, or only a server with a key.",
});

/** A player may be away for this many seconds before the seat becomes free. */
export const SeatGrace = z
  .number()
  .int()
  .min(1)
  .max(3600)
  .nullable()
  .meta({
    description:
      'Seconds, 1 to 3600: a player who had a channel and has had none for that long loses the seat, as with `leave`. `null`: the player ' +
      'keeps the seat. Time in which no process could accept a channel does not count, and the grace begins anew after it.',
    example: 30,
  });

export const Seat = z
  .object({
    code: z.string(),
    game: z.string().optional(),
    phase: z.string(),
    playerId: PlayerId,
    name: z.string(),
    joinedAt: z.iso.datetime(),
  })
  .meta({
    id: 'OwnSeat',
    description: 'A seat in a room.',
    example: { code: 'BCDFG', phase: 'lobby', playerId: 'p2', name: 'Ada', joinedAt: '2026-11-22T12:00:00.000Z' },
  });

export const Room = z
  .object({
    code: z.string(),
    game: z.string().optional(),
    phase: z.enum(['lobby', 'playing', 'ended']),
    seq: z.number().int().min(1).meta({ description: 'Rises by one with every change.' }),
    hostId: PlayerId.nullable().meta({
      description: "The host. After all players have left, it is the last host. `null` in a server's room, which has no host.",
    }),
    minPlayers: PlayerCount,
    maxPlayers: PlayerCount,
    locked: z.boolean().meta({ description: 'Whether the room refuses new players.' }),
    seatGraceSeconds: SeatGrace,
    writers: Writers,
    public: z.boolean().meta({ description: 'Whether lists show the room.' }),
    tags: Tags,
    state: z.unknown().meta({ description: "The game's public state; `{}` at first." }),
    stateSeq: z.number().int().min(1).meta({ description: 'The `seq` of the last change of the state.' }),
    players: z.array(Player).meta({ description: 'Longest seated first.' }),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    startedAt: z.iso.datetime().optional(),
    endedAt: z.iso.datetime().optional(),
    expiresAt: z.iso.datetime().meta({ description: 'The time at which the room expires, unless it changes before.' }),
    nextCode: z.string().optional().meta({ description: 'Code of the lobby of the rematch.' }),
  })
  .meta({
    id: 'Room',
    example: {
      code: 'BCDFG',
      game: 'pebble-drop',
      phase: 'lobby',
      seq: 1,
      hostId: 'p1',
      minPlayers: 2,
      maxPlayers: 4,
      locked: false,
      seatGraceSeconds: null,
      writers: 'host',
      public: false,
      tags: {},
      state: {},
      stateSeq: 1,
      players: [{ id: 'p1', name: 'Ann', ready: false, connected: true, host: true, joinedAt: '2026-11-22T12:00:00.000Z', data: null }],
      createdAt: '2026-11-22T12:00:00.000Z',
      updatedAt: '2026-11-22T12:00:00.000Z',
      expiresAt: '2026-11-22T14:00:00.000Z',
    },
  });

/** The order of an act: a number that a tab raises with each act. */
export const Order = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).meta({
  description: "A whole number that the tab raises with each act. An act whose order is not above the tab's last one changes nothing.",
});

export const Tab = z
  .string()
  .regex(/^[\x21-\x7e]{1,16}$/, 'Must be 1 to 16 visible ASCII characters')
  .meta({ description: 'The tab that acts: 1 to 16 characters that a page draws at random when it loads.' });

export const You = z
  .object({
    playerId: z
      .string()
      .meta({ description: "The player's id in this room, or `server` for a server in a room without a host.", example: 'p1' }),
    host: z.boolean(),
    private: z.unknown().optional().meta({ description: 'The part that only this player sees. Left out before the first `private`.' }),
    order: z.number().int().min(0).optional().meta({ description: 'The last order of the tab, 0 at first. Left out if no tab was named.' }),
  })
  .meta({
    id: 'Seat',
    description: "The caller's seat; after `leave`, the seat given up. For a server key the seat of the host after the action.",
    example: { playerId: 'p1', host: true },
  });

export const RoomReply = z.object({ room: Room }).meta({ id: 'RoomReply' });

/** The receivers of a message who do not get it. */
export const Away = z.array(z.string()).meta({
  description:
    'For `message`: the receivers who miss it, because they have no welcomed channel. Receivers are the players of `to` or, without `to`, the other players. Left out if nobody misses it.',
  example: ['p2'],
});

export const SeatedReply = z
  .object({
    room: Room,
    you: You,
    away: Away.optional(),
    replayed: z
      .literal(true)
      .optional()
      .meta({ description: 'True if the tab had already done an act with this order, so that nothing changed.' }),
  })
  .meta({ id: 'SeatedReply' });

/** How long a room lives without a change, in milliseconds. */
export function ttlMsOf({ ROOM_TTL_SECONDS }: Pick<Config, 'ROOM_TTL_SECONDS'>): number {
  return ROOM_TTL_SECONDS * 1000;
}

/** The caller's seat, as answers and messages show it. */
export interface OwnSeat {
  readonly playerId: string;
  readonly host: boolean;
  readonly private?: Private | undefined;
  readonly order?: number | undefined;
}

/** The seat `you` of an answer or a message, as JSON text. The text is joined from parts, because the private part is already JSON text. */
export function youJson({ playerId, host, private: own, order }: OwnSeat): string {
  const private_ = own === undefined ? '' : `,"private":${own.text}`;
  return `{"playerId":"${playerId}","host":${host}${private_}${order === undefined ? '' : `,"order":${order}`}}`;
}

export function roomReply(fields: RoomFields): Encoded {
  return new Encoded(`{"ok":true,"room":${roomJson(fields)}}`);
}

/**
 * The answer to an act.
 * @param you the caller's seat; after `leave`, the seat that the caller gave up
 * @param more further members of the JSON, as text: `awayText`
 */
export function seatedReply(fields: RoomFields, you: OwnSeat, isReplayed = false, more = ''): Encoded {
  return new Encoded(`{"ok":true,"room":${roomJson(fields)},"you":${youJson(you)}${isReplayed ? ',"replayed":true' : ''}${more}}`);
}

/** The member `away` of an answer to a message, as JSON text, or '' if nobody is away. The ids need no escapes. */
export function awayText(away: readonly string[] = []): string {
  return away.length === 0 ? '' : `,"away":["${away.join('","')}"]`;
}
